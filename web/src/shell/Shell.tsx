/** What stands around every view: the name, the navigation, the way to give up the key. */
import { Suspense, useEffect, useRef, useSyncExternalStore } from "react";
import { NavLink, Outlet, useLocation } from "react-router";

import { forgetKey, useAccess } from "../access/key";
import { KeyDialog } from "../access/KeyDialog";
import { FileDrop } from "../file/FileDrop";
import { CommandList } from "../keys/CommandList";
import { KeyList } from "../keys/KeyList";
import { Loading } from "../shared/states";
import { SHELL } from "../words/shell";
import { ColourChoice } from "./ColourChoice";
import { SkipLinks } from "./SkipLinks";

const VIEWS = [
  { to: "/sessions", name: SHELL.sessions },
  { to: "/search", name: SHELL.search },
  { to: "/compare", name: SHELL.compare },
  { to: "/doctor", name: SHELL.doctor },
  { to: "/pages", name: SHELL.pages },
  { to: "/upload", name: SHELL.upload },
];

// The same width as in shell.css.
const NARROW = window.matchMedia("(max-width: 48rem)");

export function Shell() {
  const { key, isAsked } = useAccess();
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const shownPath = useRef(pathname);

  // Who reads by ear or keyboard goes on in the new view, not in the navigation.
  useEffect(() => {
    if (shownPath.current !== pathname && pathname !== "/") {
      if (shownPath.current !== "/") main.current?.focus({ preventScroll: true });
      shownPath.current = pathname;
    }
  }, [pathname]);

  const isNarrow = useSyncExternalStore(watchWidth, () => NARROW.matches);
  const views = (
    <nav aria-label={SHELL.views}>
      {VIEWS.map((view) => (
        <NavLink key={view.to} to={view.to} data-name={view.name}>
          {view.name}
        </NavLink>
      ))}
    </nav>
  );

  return (
    <div className="shell">
      <SkipLinks />
      <header className="shell-header">
        <span className="shell-name">{SHELL.name}</span>
        {isNarrow ? (
          // Another view closes it.
          <details key={pathname} className="menu shell-menu">
            <summary className="button">{SHELL.menu}</summary>
            <div className="menu-items">
              {views}
              <ColourChoice />
            </div>
          </details>
        ) : (
          <>
            {views}
            <ColourChoice />
          </>
        )}
        <KeyList />
        {key !== null && (
          <button type="button" className="button" onClick={forgetKey}>
            {SHELL.forgetKey}
          </button>
        )}
      </header>
      <main id="main" ref={main} tabIndex={-1} inert={isAsked}>
        <Suspense fallback={<Loading what={SHELL.view} />}>
          <Outlet />
        </Suspense>
      </main>
      <CommandList views={VIEWS} />
      <FileDrop isOff={isAsked} />
      <KeyDialog />
    </div>
  );
}

function watchWidth(changed: () => void): () => void {
  NARROW.addEventListener("change", changed);
  return () => NARROW.removeEventListener("change", changed);
}
