/** An interaction: what a user asked, with files, and its answer. */
import type {
  AnswerEntry,
  AttachedFile,
  ChatMessage,
  InteractionEntry,
  MultiModalInput,
} from "../../api/generated";
import { JsonText } from "../../json/JsonDetails";
import { memberOf } from "../../json/source";
import { MediaPart } from "../../media/MediaPart";
import { FoldedText } from "../../shared/FoldedText";
import { visibleName } from "../../shared/visibleText";
import { EntryFrame } from "./EntryFrame";

export function InteractionView({ entry, source }: { entry: InteractionEntry; source: string }) {
  const { interaction, input_kind } = entry;
  const output = interaction.output ?? null;
  return (
    <EntryFrame
      seq={entry.seq}
      kind="Interaction"
      at={entry.created_at}
      source={source}
      tone="said"
    >
      {typeof interaction.input === "string" ? (
        <FoldedText text={interaction.input} />
      ) : input_kind === "multimodal" ? (
        <RichInput input={interaction.input as MultiModalInput} />
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

export function AnswerView({ entry, source }: { entry: AnswerEntry; source: string }) {
  return (
    <EntryFrame
      seq={entry.seq}
      kind="Answer"
      at={entry.created_at}
      source={source}
      tone="answered"
      labels={<code className="quiet small">{entry.interaction_id}</code>}
    >
      <Said message={entry.output} />
    </EntryFrame>
  );
}

function RichInput({ input }: { input: MultiModalInput }) {
  return input.parts.map((part, index) => (
    <div key={index} className="part">
      {part.text != null && <FoldedText text={part.text} />}
      {(part.attachments ?? []).map((attached, place) => (
        <Attachment key={place} attached={attached} />
      ))}
    </div>
  ));
}

function Attachment({ attached }: { attached: AttachedFile }) {
  const mimeType = attached.mime_type ?? undefined;
  return <MediaPart medium={{ reference: attached.id, mimeType }} />;
}

function Said({ message }: { message: ChatMessage }) {
  return (
    <>
      <p className="small quiet">
        {message.role}
        {message.name != null && ` ${visibleName(message.name)}`}
      </p>
      <FoldedText text={message.content} />
    </>
  );
}

function inputSource(source: string): string {
  return memberOf(memberOf(source, "interaction") ?? "{}", "input") ?? "null";
}
