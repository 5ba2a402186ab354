/** The addresses of the viewer. Each view is a file of its own, loaded when it is first shown. */
import { createBrowserRouter, redirect } from "react-router";

import { keyEachVisit } from "./shell/visits";
import { Shell } from "./shell/Shell";
import { BrokenView, UnknownAddress } from "./shell/BrokenView";
import { Opening } from "./shell/Opening";

// Before the router reads the history.
keyEachVisit();

export const router = createBrowserRouter([
  {
    Component: Shell,
    ErrorBoundary: BrokenView,
    HydrateFallback: Opening,
    children: [
      { index: true, loader: () => redirect("/sessions") },
      {
        path: "sessions",
        lazy: async () => ({ Component: (await import("./sessions/SessionsView")).SessionsView }),
        children: [
          {
            index: true,
            lazy: async () => ({ Component: (await import("./sessions/NoSession")).NoSession }),
          },
          {
            path: ":sessionId",
            lazy: async () => ({ Component: (await import("./timeline/TimelineView")).TimelineView }),
          },
        ],
      },
      {
        path: "sessions/:sessionId/model",
        lazy: async () => ({ Component: (await import("./model/ModelView")).ModelView }),
      },
      {
        path: "search",
        lazy: async () => ({ Component: (await import("./search/SearchView")).SearchView }),
      },
      {
        path: "compare",
        lazy: async () => ({ Component: (await import("./compare/CompareView")).CompareView }),
      },
      {
        path: "doctor",
        lazy: async () => ({ Component: (await import("./doctor/DoctorView")).DoctorView }),
      },
      {
        path: "pages",
        lazy: async () => ({ Component: (await import("./pages/PagesView")).PagesView }),
      },
      {
        path: "pages/:pageId",
        lazy: async () => ({ Component: (await import("./pages/PageView")).PageView }),
      },
      {
        path: "upload",
        lazy: async () => ({ Component: (await import("./upload/UploadView")).UploadView }),
      },
      {
        path: "file",
        lazy: async () => ({ Component: (await import("./file/FileView")).FileView }),
      },
      { path: "*", Component: UnknownAddress },
    ],
  },
]);
