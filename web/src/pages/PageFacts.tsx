/** What is said about a page: by its writer, and by the service that measured it. */
import type { PageRecord } from "@pagefault/client";
import {
  clock,
  dimensionsText,
  duration,
  fileSize,
  numberText,
  visibleText,
} from "@pagefault/react";
import type { ReactNode } from "react";
import { Link } from "react-router";

import { TimeText } from "../shared/TimeText";
import { levelName } from "./pageWords";
import { PAGES } from "../words/pages";

const LONGEST_UNFOLDED = 400;

export function PageFacts({ page }: { page: PageRecord }) {
  const media = page.media;
  return (
    <dl className="page-facts">
      <Fact name={PAGES.facts.type}>{page.page_type}</Fact>
      <Fact name={PAGES.facts.session}>
        {page.session_id !== null && (
          <Link to={`/sessions/${encodeURIComponent(page.session_id)}`}>{page.session_id}</Link>
        )}
      </Fact>
      <Fact name={PAGES.facts.hint}>{words(page.hint)}</Fact>
      <Fact name={PAGES.facts.caption}>{words(page.caption)}</Fact>
      <Fact name={PAGES.facts.mimeType}>{words(page.mime_type ?? media?.mime_type)}</Fact>
      <Fact name={PAGES.facts.fileName}>{words(media?.filename)}</Fact>
      <Fact name={PAGES.facts.dimensions}>{dimensions(page)}</Fact>
      <Fact name={PAGES.facts.duration}>{seconds(media?.duration_seconds ?? page.duration_seconds)}</Fact>
      <Fact name={PAGES.facts.schema}>{words(page.schema_name)}</Fact>
      <Fact name={PAGES.facts.size}>{page.size_bytes === null ? null : fileSize(page.size_bytes)}</Fact>
      <Fact name={PAGES.facts.tokens}>{PAGES.aboutCount(numberText(page.size_tokens))}</Fact>
      <Fact name={PAGES.facts.shownAt}>{levelName(page.compression_level)}</Fact>
      <Fact name={PAGES.facts.importance}>{numberText(page.importance)}</Fact>
      <Fact name={PAGES.facts.written}>
        <TimeText at={page.created_at} />
      </Fact>
      <Fact name={PAGES.facts.changed}>
        <TimeText at={page.updated_at} />{PAGES.version(numberText(page.version))}
      </Fact>
      <Fact name={PAGES.facts.read}>{reads(page)}</Fact>
      <Fact name={PAGES.facts.comesFrom}>
        {page.provenance.length > 0 &&
          page.provenance.map((id, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <Link to={`/pages/${encodeURIComponent(id)}`}>{id}</Link>
            </span>
          ))}
      </Fact>
      <Fact name={PAGES.facts.transcript}>{words(page.transcript)}</Fact>
      <Fact name={PAGES.facts.scenes}>{scenes(page)}</Fact>
      <Fact name={PAGES.facts.metadata}>
        {Object.keys(page.metadata).length > 0 && words(JSON.stringify(page.metadata, null, 1))}
      </Fact>
    </dl>
  );
}

/** A row of the list; none where nothing is known. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function words(text: string | null | undefined): ReactNode {
  if (text == null || text === "") return null;
  if (text.length <= LONGEST_UNFOLDED) return visibleText(text);
  return (
    <details>
      <summary>{PAGES.characters(text.length)}</summary>
      {visibleText(text)}
    </details>
  );
}

function seconds(value: number | null): string | null {
  return value === null ? null : duration(value);
}

function dimensions(page: PageRecord): string | null {
  const width = page.media?.width ?? page.dimensions?.[0];
  const height = page.media?.height ?? page.dimensions?.[1];
  return width == null || height == null ? null : dimensionsText(width, height);
}

function reads(page: PageRecord): ReactNode {
  if (page.last_accessed === null) return PAGES.never;
  return (
    <>
      {PAGES.times(page.access_count)}{PAGES.last} <TimeText at={page.last_accessed} />
    </>
  );
}

function scenes(page: PageRecord): ReactNode {
  if (page.scenes === null || page.scenes.length === 0) return null;
  return (
    <ol>
      {page.scenes.map((scene, index) => (
        <li key={index}>{visibleText(sceneText(scene))}</li>
      ))}
    </ol>
  );
}

/** A scene in a line: what it shows, and from when to when if that is said. */
function sceneText(scene: string | Record<string, unknown>): string {
  if (typeof scene === "string") return scene;
  const words = [scene["summary"], scene["caption"], scene["description"], scene["text"]];
  const shown = words.find((each) => typeof each === "string") ?? JSON.stringify(scene);
  const [start, end] = [scene["start"], scene["end"]];
  if (typeof start !== "number") return shown;
  return `${clock(start)}${typeof end === "number" ? `-${clock(end)}` : ""} ${shown}`;
}
