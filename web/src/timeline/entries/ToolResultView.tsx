/** A tool result, drawn from its parts. */
import type { Part, ResourceDescriptor, ToolMessage } from "../../api/generated";
import { JsonDetails } from "../../json/JsonDetails";
import { memberOf } from "../../json/source";
import { MediaPart } from "../../media/MediaPart";
import { resourceId } from "../../media/references";
import { visibleName, visibleText } from "../../shared/visibleText";
import { EntryFrame } from "./EntryFrame";
import { Origin } from "./Origin";
import { PreviewedText } from "./PreviewedText";

export function ToolResultView({ entry, source }: { entry: ToolMessage; source: string }) {
  const { parts, resources, meta } = entry.sanitized;
  const structured = structuredContent(source);
  return (
    <EntryFrame
      seq={entry.seq}
      kind="Tool result"
      name={entry.name}
      at={entry.createdAt}
      source={source}
      tone={meta.success ? "tool" : "tool failed"}
      labels={
        <>
          {!meta.success && <span className="label bad">Failed</span>}
          <code className="quiet small">{visibleName(entry.toolCallId)}</code>
        </>
      }
    >
      {/* Parts have no id, and never change their order. */}
      {parts.map((part, index) => (
        <PartView
          key={index}
          part={part}
          resources={resources}
          declared={meta.declaredMimeType?.[`/parts/${index}`]}
        />
      ))}
      {meta.warnings != null && meta.warnings.length > 0 && (
        <div className="warnings">
          <h3>Not taken as the tool meant it</h3>
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
      {structured !== undefined && <JsonDetails title="Structured content" source={structured} />}
    </EntryFrame>
  );
}

interface PartViewProps {
  readonly part: Part;
  readonly resources: readonly ResourceDescriptor[];
  /** The type the tool had claimed, where the bytes are of another. */
  readonly declared: string | undefined;
}

function PartView({ part, resources, declared }: PartViewProps) {
  return (
    <div className="part">
      <Origin name={part.name} uri={part.uri} />
      {part.type === "text" ? (
        <PreviewedText text={part.text} resources={resources} />
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
        <p className="quiet small">The tool had called it {visibleName(declared)}.</p>
      )}
    </div>
  );
}

function descriptorOf(reference: string, resources: readonly ResourceDescriptor[]) {
  const id = resourceId(reference);
  return id === null ? undefined : resources.find(({ uri }) => resourceId(uri) === id);
}

function structuredContent(source: string): string | undefined {
  const sanitized = memberOf(source, "sanitized") ?? "{}";
  return memberOf(memberOf(sanitized, "meta") ?? "{}", "structuredContent");
}
