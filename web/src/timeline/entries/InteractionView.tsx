/** An interaction: what a user asked, with files, and its answer. */
import {
  type AnswerEntry,
  type AttachedFile,
  type ChatMessage,
  type InteractionEntry,
  type MultiModalInput,
  resourceId,
} from "@pagefault/client";
import { memberOf } from "@pagefault/client/json";
import { FileCard, MediaPart, visibleName } from "@pagefault/react";

import { JsonText } from "../../json/JsonDetails";
import { RichText } from "../../reading/RichText";
import { ENTRY } from "../../words/timeline";
import { EntryFrame } from "./EntryFrame";

interface Framed<Entry> {
  readonly entry: Entry;
  readonly source: string;
  /** Whether the address names it. */
  readonly isNamed: boolean;
}

export function InteractionView({ entry, source, isNamed }: Framed<InteractionEntry>) {
  const { interaction, input_kind } = entry;
  const output = interaction.output ?? null;
  return (
    <EntryFrame
      seq={entry.seq}
      kind={ENTRY.interaction}
      at={entry.created_at}
      {...{ source, isNamed }}
      tone="said"
    >
      {typeof interaction.input === "string" ? (
        <RichText text={interaction.input} />
      ) : input_kind === "multimodal" ? (
        <RichInput input={interaction.input as MultiModalInput} bound={entry.bound ?? {}} />
      ) : (
        <JsonText source={inputSource(source)} />
      )}
      {output !== null && (
        <div className="nested">
          <Said message={output} />
        </div>
      )}
    </EntryFrame>
  );
}

export function AnswerView({ entry, source, isNamed }: Framed<AnswerEntry>) {
  return (
    <EntryFrame
      seq={entry.seq}
      kind={ENTRY.answer}
      at={entry.created_at}
      {...{ source, isNamed }}
      tone="answered"
      labels={<code className="quiet small">{entry.interaction_id}</code>}
    >
      <Said message={entry.output} />
    </EntryFrame>
  );
}

/** What attachments are bound to, where their ids do not say so. */
type Bound = NonNullable<InteractionEntry["bound"]>;

function RichInput({ input, bound }: { input: MultiModalInput; bound: Bound }) {
  return input.parts.map((part, index) => (
    <div key={index} className="part">
      {part.text != null && <RichText text={part.text} />}
      {(part.attachments ?? []).map((attached, place) => (
        <Attachment key={place} attached={attached} bound={bound} />
      ))}
    </div>
  ));
}

function Attachment({ attached, bound }: { attached: AttachedFile; bound: Bound }) {
  const mimeType = attached.mime_type ?? undefined;
  const id = resourceId(attached.id);
  const key = id ?? attached.id;
  const reference = Object.hasOwn(bound, key) ? bound[key] : id;
  // An id that nobody knew when it was written: there is nothing to show but what it is called.
  if (reference == null) return <FileCard facts={{ mimeType, filename: attached.id }} />;
  return <MediaPart medium={{ reference, mimeType }} />;
}

function Said({ message }: { message: ChatMessage }) {
  return (
    <>
      <p className="small quiet">
        {message.role}
        {message.name != null && ` ${visibleName(message.name)}`}
      </p>
      <RichText text={message.content} />
    </>
  );
}

function inputSource(source: string): string {
  return memberOf(memberOf(source, "interaction") ?? "{}", "input") ?? "null";
}
