/** A tool result, drawn from its parts. */
import {
  resourceId,
  type Part,
  type ResourceDescriptor,
  type SanitizedToolResult,
} from "@pagefault/client";

import { useTextViews } from "./context.ts";
import { MediaPart } from "./MediaPart.tsx";
import { Origin } from "./Origin.tsx";
import { PartText } from "./PreviewedText.tsx";
import { usePieces } from "./usePieces.tsx";
import { visibleName, visibleText } from "./visibleText.ts";
import { WORDS } from "./words.ts";

const MOST_AT_FIRST = 100;
/** The member of `_meta` that marks the page of an MCP App. */
const APP = "pagefault/app";

interface ToolResultProps {
  /** `sanitized` of a record, an entry of a history, or an event. */
  readonly result: SanitizedToolResult;
}

/**
 * The texts, images, recordings and files of a tool result. The output of tools is rendered as text,
 * never as markup, and content is only loaded from the service.
 */
export function ToolResult({ result }: ToolResultProps) {
  const { parts, resources, meta } = result;
  const [shown, more] = usePieces(parts, MOST_AT_FIRST);
  return (
    <>
      {/* Parts have no id, and never change their order. */}
      {shown.map((part, index) => (
        <PartView
          key={index}
          part={part}
          resources={resources}
          declared={meta.declaredMimeType?.[`/parts/${index}`]}
        />
      ))}
      {more}
      {meta.warnings != null && meta.warnings.length > 0 && (
        <div className="warnings">
          <h3>{WORDS.warnings}</h3>
          <ul>
            {meta.warnings.map((warning, index) => (
              <li key={index}>
                {visibleText(warning.detail)}{" "}
                <code className="small">{visibleName(warning.pointer)}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

interface PartViewProps {
  readonly part: Part;
  readonly resources: readonly ResourceDescriptor[];
  /** The type the tool had claimed, where the bytes are of another. */
  readonly declared: string | undefined;
}

function PartView({ part, resources, declared }: PartViewProps) {
  const { App } = useTextViews();
  if (App !== undefined && part.type === "file" && part._meta != null && APP in part._meta) {
    return (
      <div className="part">
        <App part={part} />
      </div>
    );
  }
  return (
    <div className="part">
      <Origin name={part.name} uri={part.uri} />
      {part.type === "text" ? (
        <PartText part={part} resources={resources} />
      ) : (
        <MediaPart
          medium={
            part.type === "image"
              ? { reference: part.image, mimeType: part.mimeType }
              : {
                  reference: part.data,
                  mimeType: part.mimeType,
                  mediaKind: part.mediaKind,
                  filename: part.filename,
                }
          }
          known={descriptorOf(part.type === "image" ? part.image : part.data, resources)}
        />
      )}
      {declared !== undefined && (
        <p className="quiet small">{WORDS.declared(visibleName(declared))}</p>
      )}
    </div>
  );
}

function descriptorOf(reference: string, resources: readonly ResourceDescriptor[]) {
  const id = resourceId(reference);
  return id === null ? undefined : resources.find(({ uri }) => resourceId(uri) === id);
}
