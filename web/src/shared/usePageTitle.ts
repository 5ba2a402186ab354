/** The title of the document while a view is shown. */
import { useEffect } from "react";

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pagefault`;
  }, [title]);
}
