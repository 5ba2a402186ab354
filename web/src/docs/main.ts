/** The explorer of the API: Swagger UI over the document of the service that handed it out. */
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";
import "./docs.css";
import { nameFields } from "./nameFields";

const explorer = document.getElementById("explorer");

async function show(): Promise<void> {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`/openapi.json answers with ${answer.status}.`);
  const spec = (await answer.json()) as Record<string, unknown>;
  SwaggerUIBundle({
    // Requests go to where the page is from, and by its policy to nobody else.
    spec: { ...spec, servers: [{ url: window.location.origin }] },
    domNode: explorer,
    deepLinking: true,
    filter: true,
    docExpansion: "none",
    displayRequestDuration: true,
    defaultModelRendering: "model",
    defaultModelsExpandDepth: 0,
    // It would send the document to a service of its maker, and keys to the disk.
    validatorUrl: null,
    persistAuthorization: false,
  });
  if (explorer !== null) nameFields(explorer);
}

show().catch((failure: unknown) => {
  const said = document.createElement("p");
  said.setAttribute("role", "alert");
  said.textContent = `The document cannot be shown. ${String(failure)}`;
  explorer?.append(said);
});
