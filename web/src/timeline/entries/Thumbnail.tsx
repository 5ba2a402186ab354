/** A small picture of an image, stored or in the record itself; nothing where it cannot be drawn. */
import { type Medium, placeOf, shownAs, useResourceContent } from "@pagefault/react";

export function Thumbnail({ medium }: { medium: Medium }) {
  const place = placeOf(medium.reference, medium.mimeType);
  if (place.at === "store") return <StoredThumbnail reference={medium.reference} />;
  const isDrawn = place.at === "page" && shownAs(place.mimeType) === "image";
  return isDrawn ? <img className="thumbnail" src={place.dataUri} alt="" /> : null;
}

export function StoredThumbnail({ reference }: { reference: string }) {
  const { descriptor, url, crossOrigin } = useResourceContent(reference);
  if (shownAs(descriptor?.mimeType) !== "image") return null;
  return (
    <img className="thumbnail" src={url} crossOrigin={crossOrigin} alt="" loading="lazy" decoding="async" />
  );
}
