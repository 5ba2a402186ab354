/** The conversion of JavaScript values to JSON, in which nothing is lost without an error. */

/** A value cannot be stored whole. */
export class UnstorableError extends TypeError {
  override readonly name = "UnstorableError";
  /** The JSON pointer of the value in the body of the request. */
  readonly pointer: string;

  constructor(pointer: string, reason: string) {
    super(`The value at ${pointer || "the root"} ${reason}`);
    this.pointer = pointer;
  }
}

/**
 * The JSON of a value. Bytes and files become data URIs, in which the service finds the medium that
 * they are; a `Map` an object; a `Set` and an array of other numbers than bytes a list; a `BigInt`
 * all its digits; an error its name and message. Members that are `undefined` are absent.
 *
 * Rejects with an `UnstorableError` where a value would be lost or changed.
 */
export async function jsonOf(value: unknown): Promise<string> {
  const conversion = new Conversion();
  const plain = conversion.convert(value);
  if (conversion.files.size === 0) return conversion.write(plain);
  for (const file of conversion.files.keys()) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    conversion.files.set(file, dataUri(bytes, file.type, file instanceof File ? file.name : ""));
  }
  return conversion.write(conversion.convert(value));
}

/** A conversion of values to those that JSON has. */
class Conversion {
  /** The files in the value; each with its data URI, when that is known. */
  readonly files = new Map<Blob, string>();
  private readonly path: (string | number)[] = [];
  private readonly around = new Set<object>();
  private hasDigits = false;
  /** What stands before the digits of a `BigInt` until the text is written. */
  private readonly mark = `digits:${Math.random()}:`;

  write(plain: unknown): string {
    const text = JSON.stringify(plain);
    return this.hasDigits ? text.replaceAll(new RegExp(`"${this.mark}(-?\\d+)"`, "g"), "$1") : text;
  }

  convert(value: unknown): unknown {
    if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
    if (typeof value === "number")
      return Number.isFinite(value) ? value : this.refuse(`is ${value}, which JSON does not have`);
    if (typeof value === "bigint") {
      this.hasDigits = true;
      return this.mark + String(value);
    }
    if (value === undefined) return this.refuse("is undefined");
    if (typeof value !== "object") return this.refuse(`is a ${typeof value}`);
    if (this.around.has(value)) return this.refuse("contains itself");
    this.around.add(value);
    const plain = this.convertObject(value);
    this.around.delete(value);
    return plain;
  }

  private convertObject(value: object): unknown {
    if (Array.isArray(value)) return this.list(value);
    if (Object.getPrototypeOf(value) !== Object.prototype) return this.convertInstance(value);
    return "toJSON" in value ? this.convertInstance(value) : this.members(Object.entries(value));
  }

  private convertInstance(value: object): unknown {
    if (value instanceof Blob) {
      const uri = this.files.get(value) ?? "";
      this.files.set(value, uri);
      return uri;
    }
    if (ArrayBuffer.isView(value)) return this.convertView(value);
    switch (tagOf(value)) {
      case "ArrayBuffer":
      case "SharedArrayBuffer":
        return dataUri(new Uint8Array(value as ArrayBuffer));
      case "Map":
        return this.convertMap(value as Map<unknown, unknown>);
      case "Set":
        return this.list([...(value as Set<unknown>)]);
      case "Date":
        if (Number.isNaN((value as Date).getTime())) return this.refuse("is an invalid date");
        break;
      case "Number":
      case "String":
      case "Boolean":
      case "BigInt":
        return this.convert(value.valueOf());
      case "Error": {
        const { name, message, cause } = value as Error;
        return this.members(Object.entries({ name, message, cause, ...value }));
      }
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function")
      return this.convert(toJSON.call(value, `${this.path.at(-1) ?? ""}`));
    const members = Object.entries(value);
    if (members.length === 0 && !isPlain(value))
      return this.refuse(`is a ${value.constructor.name || tagOf(value)}, which has no JSON`);
    return this.members(members);
  }

  private convertView(view: ArrayBufferView): unknown {
    const kind = tagOf(view);
    if (kind === "DataView" || kind === "Uint8Array" || kind === "Uint8ClampedArray")
      return dataUri(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return this.list(Array.from(view as unknown as ArrayLike<unknown>));
  }

  private convertMap(map: Map<unknown, unknown>): unknown {
    for (const key of map.keys())
      if (typeof key !== "string")
        return this.refuse("has a key that is not a string: use a list of pairs instead");
    return this.members([...(map as Map<string, unknown>)]);
  }

  private members(entries: [string, unknown][]): object {
    const plain: Record<string, unknown> = {};
    for (const [name, given] of entries) {
      if (given === undefined) continue;
      const value = this.at(name, given);
      // Assigning it would set the prototype.
      if (name === "__proto__") Object.defineProperty(plain, name, { value, enumerable: true });
      else plain[name] = value;
    }
    return plain;
  }

  private list(values: readonly unknown[]): unknown[] {
    // Not `map`, which passes over holes.
    return Array.from(values, (value, index) => this.at(index, value));
  }

  private at(step: string | number, value: unknown): unknown {
    this.path.push(step);
    const plain = this.convert(value);
    this.path.pop();
    return plain;
  }

  private refuse(reason: string): never {
    const steps = this.path.map((step) => `${step}`.replaceAll("~", "~0").replaceAll("/", "~1"));
    throw new UnstorableError(steps.map((step) => `/${step}`).join(""), reason);
  }
}

/** A text for a model, whatever the value is; it never throws. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  const around: unknown[] = [];
  try {
    const text = JSON.stringify(value, function (this: unknown, _, member: unknown) {
      if (typeof member === "bigint") return String(member);
      while (around.length > 0 && around.at(-1) !== this) around.pop();
      if (around.includes(member)) return "[circular]";
      if (typeof member === "object" && member !== null) around.push(member);
      return member;
    });
    return text ?? "";
  } catch {
    return Object.prototype.toString.call(value);
  }
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  // A function does not take any number of arguments.
  for (let start = 0; start < bytes.length; start += 8_192)
    text += String.fromCharCode(...bytes.subarray(start, start + 8_192));
  return btoa(text);
}

function dataUri(bytes: Uint8Array, mimeType = "", filename = ""): string {
  const name = filename && `;name=${encodeURIComponent(filename)}`;
  return `data:${mimeType || "application/octet-stream"}${name};base64,${base64Of(bytes)}`;
}

/** The kind of an object, also of one from another window. */
function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
