/** What is kept of answers. The client has asked again where that was of use. */
import { QueryClient } from "@tanstack/react-query";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { refetchOnWindowFocus: false, staleTime: 5_000, retry: false },
    mutations: { retry: false },
  },
});
