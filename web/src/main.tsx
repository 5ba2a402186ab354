/** Starts the viewer: one query client, one router, the styles. */
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";

import { queryClient } from "./api/queryClient";
import { router } from "./router";
import { watchParts } from "./shell/outdatedBuild";
import { applyScheme } from "./shell/colourScheme";
import { WithClient } from "./shell/WithClient";
import { beginOutline } from "./timeline/begunOutline";
import "@pagefault/react/styles.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shared.css";
import "./styles/shell.css";

applyScheme();
watchParts();
beginOutline(window.location.pathname);

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <WithClient>
        <RouterProvider router={router} />
      </WithClient>
    </QueryClientProvider>
  </StrictMode>,
);
