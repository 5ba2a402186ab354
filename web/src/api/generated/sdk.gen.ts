// This file is generated; `npm run generate` writes it anew.
// @ts-nocheck

import type { Client, ClientMeta, Options as Options2, RequestResult, ServerSentEventsResult, TDataShape } from './client';
import { client } from './client.gen';
import type { AppendMessageData, AppendMessageErrors, AppendMessageResponses, AppendTurnData, AppendTurnErrors, AppendTurnResponses, AppendUploadData, AppendUploadErrors, AppendUploadResponses, CreateEventTicketData, CreateEventTicketErrors, CreateEventTicketResponses, CreateInteractionData, CreateInteractionErrors, CreateInteractionResponses, CreatePageData, CreatePageErrors, CreatePageResponses, CreatePagesData, CreatePagesErrors, CreatePagesResponses, CreateResourceData, CreateResourceErrors, CreateResourceResponses, CreateSignedUrlData, CreateSignedUrlErrors, CreateSignedUrlResponses, CreateToolResultData, CreateToolResultErrors, CreateToolResultResponses, CreateUploadData, CreateUploadErrors, CreateUploadResponses, DeleteAliasData, DeleteAliasErrors, DeleteAliasResponses, DeletePageData, DeletePageErrors, DeletePageRepresentationData, DeletePageRepresentationErrors, DeletePageRepresentationResponses, DeletePageResponses, DeleteResourceData, DeleteResourceErrors, DeleteResourceResponses, DeleteSessionData, DeleteSessionErrors, DeleteSessionResponses, DeleteUploadData, DeleteUploadErrors, DeleteUploadResponses, DownloadPageData, DownloadPageErrors, DownloadPageResponses, ExamineHistoryData, ExamineHistoryErrors, ExamineHistoryResponses, ExportSessionData, ExportSessionErrors, ExportSessionResponses, FaultPageData, FaultPageErrors, FaultPageResponses, GetAliasData, GetAliasErrors, GetAliasResponses, GetHealthData, GetHealthErrors, GetHealthResponses, GetInteractionData, GetInteractionErrors, GetInteractionResponses, GetManifestData, GetManifestErrors, GetManifestResponses, GetMessageData, GetMessageErrors, GetMessageResponses, GetMetricsData, GetMetricsErrors, GetMetricsResponses, GetPageBlocksData, GetPageBlocksErrors, GetPageBlocksResponses, GetPageContentData, GetPageContentErrors, GetPageContentResponses, GetPageData, GetPageErrors, GetPageRepresentationData, GetPageRepresentationErrors, GetPageRepresentationResponses, GetPageResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, GetResourceContentData, GetResourceContentErrors, GetResourceContentResponses, GetResourceData, GetResourceErrors, GetResourceResponses, GetResourceTextData, GetResourceTextErrors, GetResourceTextResponses, GetSessionData, GetSessionErrors, GetSessionResponses, GetToolInstructionsData, GetToolInstructionsErrors, GetToolInstructionsResponses, GetToolResultData, GetToolResultErrors, GetToolResultResponses, GetUploadData, GetUploadErrors, GetUploadOffsetData, GetUploadOffsetErrors, GetUploadOffsetResponses, GetUploadOptionsData, GetUploadOptionsErrors, GetUploadOptionsResponses, GetUploadResponses, GetVersionData, GetVersionErrors, GetVersionResponses, HeadPageData, HeadPageDownloadData, HeadPageDownloadErrors, HeadPageDownloadResponses, HeadPageErrors, HeadPageResponses, HeadResourceContentData, HeadResourceContentErrors, HeadResourceContentResponses, HeadResourceData, HeadResourceErrors, HeadResourceResponses, HeadSessionData, HeadSessionErrors, HeadSessionResponses, ImportSessionData, ImportSessionErrors, ImportSessionResponses, ListAliasesData, ListAliasesErrors, ListAliasesResponses, ListInteractionsData, ListInteractionsErrors, ListInteractionsResponses, ListMessagesData, ListMessagesErrors, ListMessagesResponses, ListPagesData, ListPagesErrors, ListPagesResponses, ListResourcesData, ListResourcesErrors, ListResourcesResponses, ListSessionsData, ListSessionsErrors, ListSessionsResponses, ListToolResultsData, ListToolResultsErrors, ListToolResultsResponses, ListToolsData, ListToolsErrors, ListToolsResponses, PatchPageData, PatchPageErrors, PatchPageResponses, PutAliasData, PutAliasErrors, PutAliasResponses, PutPageData, PutPageErrors, PutPageRepresentationData, PutPageRepresentationErrors, PutPageRepresentationResponses, PutPageResponses, PutSessionData, PutSessionErrors, PutSessionResponses, RenderPageData, RenderPageErrors, RenderPageResponses, RenderRecordData, RenderRecordErrors, RenderRecordResponses, RenderSessionData, RenderSessionErrors, RenderSessionOnData, RenderSessionOnErrors, RenderSessionOnResponses, RenderSessionResponses, RenderToolResultData, RenderToolResultErrors, RenderToolResultResponses, ResolveReferencesData, ResolveReferencesErrors, ResolveReferencesResponses, RunToolCallData, RunToolCallErrors, RunToolCallResponses, SearchPagesData, SearchPagesErrors, SearchPagesResponses, SetInteractionOutputData, SetInteractionOutputErrors, SetInteractionOutputResponses, StreamEventsData, StreamEventsErrors, StreamEventsResponse, StreamEventsResponses, StreamSessionEventsData, StreamSessionEventsErrors, StreamSessionEventsResponse, StreamSessionEventsResponses } from './types.gen';

export type Options<TData extends TDataShape = TDataShape, ThrowOnError extends boolean = boolean, TResponse = unknown> = Options2<TData, ThrowOnError, TResponse> & {
    /**
     * You can provide a client instance returned by `createClient()` instead of
     * individual options. This might be also useful if you want to implement a
     * custom client.
     */
    client?: Client;
    /**
     * You can pass arbitrary values through the `meta` object. This can be
     * used to access values that aren't defined as part of the SDK function.
     */
    meta?: keyof ClientMeta extends never ? Record<string, unknown> : ClientMeta;
};

/**
 * List Tool Results
 *
 * List tool results, newest first; of one session, if one is named.
 */
export const listToolResults = <ThrowOnError extends boolean = false>(options?: Options<ListToolResultsData, ThrowOnError>): RequestResult<ListToolResultsResponses, ListToolResultsErrors, ThrowOnError> => (options?.client ?? client).get<ListToolResultsResponses, ListToolResultsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tool-results',
    ...options
});

/**
 * Create Tool Result
 *
 * Take in what a tool returned, whatever its shape, and answer with the canonical record.
 *
 * Media leave the result for the resource store, long text is previewed, and nothing is dropped.
 * The same session, `toolCallId` and JSON give the same record again with 200, however the body
 * is written; other JSON is a 409. Outside a session an `Idempotency-Key` makes a retry safe; that
 * of a record which was deleted since is a 404. With `render` the answer has its rendering, too.
 */
export const createToolResult = <ThrowOnError extends boolean = false>(options: Options<CreateToolResultData, ThrowOnError>): RequestResult<CreateToolResultResponses, CreateToolResultErrors, ThrowOnError> => (options.client ?? client).post<CreateToolResultResponses, CreateToolResultErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tool-results',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Tool Result
 *
 * Read a record: the stored bytes, with a strong ETag.
 */
export const getToolResult = <ThrowOnError extends boolean = false>(options: Options<GetToolResultData, ThrowOnError>): RequestResult<GetToolResultResponses, GetToolResultErrors, ThrowOnError> => (options.client ?? client).get<GetToolResultResponses, GetToolResultErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tool-results/{tool_result_id}',
    ...options
});

/**
 * List Resources
 *
 * List resources, newest first.
 */
export const listResources = <ThrowOnError extends boolean = false>(options?: Options<ListResourcesData, ThrowOnError>): RequestResult<ListResourcesResponses, ListResourcesErrors, ThrowOnError> => (options?.client ?? client).get<ListResourcesResponses, ListResourcesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources',
    ...options
});

/**
 * Create Resource
 *
 * Keep a file: a raw body, or the one file of a multipart form. It is streamed to the store.
 *
 * The bytes decide the type. The same file again is the same resource, with 200. With `alias` the
 * resource gets that name as well; if it is another resource's, nothing is stored.
 */
export const createResource = <ThrowOnError extends boolean = false>(options: Options<CreateResourceData, ThrowOnError>): RequestResult<CreateResourceResponses, CreateResourceErrors, ThrowOnError> => (options.client ?? client).post<CreateResourceResponses, CreateResourceErrors, ThrowOnError>({
    bodySerializer: null,
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources',
    ...options,
    headers: {
        'Content-Type': 'application/octet-stream',
        ...options.headers
    }
});

/**
 * Delete Resource
 *
 * Remove a resource that nothing refers to; a 409 names what does.
 */
export const deleteResource = <ThrowOnError extends boolean = false>(options: Options<DeleteResourceData, ThrowOnError>): RequestResult<DeleteResourceResponses, DeleteResourceErrors, ThrowOnError> => (options.client ?? client).delete<DeleteResourceResponses, DeleteResourceErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}',
    ...options
});

/**
 * Get Resource
 *
 * Read a descriptor.
 */
export const getResource = <ThrowOnError extends boolean = false>(options: Options<GetResourceData, ThrowOnError>): RequestResult<GetResourceResponses, GetResourceErrors, ThrowOnError> => (options.client ?? client).get<GetResourceResponses, GetResourceErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}',
    ...options
});

/**
 * Head Resource
 *
 * Read a descriptor.
 */
export const headResource = <ThrowOnError extends boolean = false>(options: Options<HeadResourceData, ThrowOnError>): RequestResult<HeadResourceResponses, HeadResourceErrors, ThrowOnError> => (options.client ?? client).head<HeadResourceResponses, HeadResourceErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}',
    ...options
});

/**
 * Create Signed Url
 *
 * Make a link that needs no key and soon expires, for `<img>`, `<video>` and the like.
 */
export const createSignedUrl = <ThrowOnError extends boolean = false>(options: Options<CreateSignedUrlData, ThrowOnError>): RequestResult<CreateSignedUrlResponses, CreateSignedUrlErrors, ThrowOnError> => (options.client ?? client).post<CreateSignedUrlResponses, CreateSignedUrlErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}/signed-url',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Resource Content
 *
 * Read the bytes: whole, in ranges, or only if they changed (RFC 9110).
 */
export const getResourceContent = <ThrowOnError extends boolean = false>(options: Options<GetResourceContentData, ThrowOnError>): RequestResult<GetResourceContentResponses, GetResourceContentErrors, ThrowOnError> => (options.client ?? client).get<GetResourceContentResponses, GetResourceContentErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}/content',
    ...options
});

/**
 * Head Resource Content
 *
 * Read the bytes: whole, in ranges, or only if they changed (RFC 9110).
 */
export const headResourceContent = <ThrowOnError extends boolean = false>(options: Options<HeadResourceContentData, ThrowOnError>): RequestResult<HeadResourceContentResponses, HeadResourceContentErrors, ThrowOnError> => (options.client ?? client).head<HeadResourceContentResponses, HeadResourceContentErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}/content',
    ...options
});

/**
 * Get Resource Text
 *
 * Read a piece of a text: some lines, the lines that hold something, or a value of its JSON.
 *
 * An answer has 64 KiB of text at most, and `nextLine` says where to go on. A value that is too
 * large is answered with its shape, and the pointers that lead into it.
 */
export const getResourceText = <ThrowOnError extends boolean = false>(options: Options<GetResourceTextData, ThrowOnError>): RequestResult<GetResourceTextResponses, GetResourceTextErrors, ThrowOnError> => (options.client ?? client).get<GetResourceTextResponses, GetResourceTextErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resources/{uri}/text',
    ...options
});

/**
 * List Aliases
 *
 * List aliases with the resources they name, newest first.
 */
export const listAliases = <ThrowOnError extends boolean = false>(options?: Options<ListAliasesData, ThrowOnError>): RequestResult<ListAliasesResponses, ListAliasesErrors, ThrowOnError> => (options?.client ?? client).get<ListAliasesResponses, ListAliasesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/aliases',
    ...options
});

/**
 * Delete Alias
 *
 * Remove an alias; the resource stays, and so do interactions that were written with it.
 */
export const deleteAlias = <ThrowOnError extends boolean = false>(options: Options<DeleteAliasData, ThrowOnError>): RequestResult<DeleteAliasResponses, DeleteAliasErrors, ThrowOnError> => (options.client ?? client).delete<DeleteAliasResponses, DeleteAliasErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/aliases/{alias}',
    ...options
});

/**
 * Get Alias
 *
 * Read which resource an alias names, with its descriptor.
 */
export const getAlias = <ThrowOnError extends boolean = false>(options: Options<GetAliasData, ThrowOnError>): RequestResult<GetAliasResponses, GetAliasErrors, ThrowOnError> => (options.client ?? client).get<GetAliasResponses, GetAliasErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/aliases/{alias}',
    ...options
});

/**
 * Put Alias
 *
 * Give a resource an alias, by which attachments of interactions may name it.
 *
 * The same again changes nothing. An alias that names another resource is a 409, unless
 * `If-Match` has its ETag; what was bound by it before stays bound as it was.
 */
export const putAlias = <ThrowOnError extends boolean = false>(options: Options<PutAliasData, ThrowOnError>): RequestResult<PutAliasResponses, PutAliasErrors, ThrowOnError> => (options.client ?? client).put<PutAliasResponses, PutAliasErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/aliases/{alias}',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Resolve References
 *
 * Replace `@blob:` references anywhere in a JSON value by what they stand for.
 *
 * Only resources of the named session are given out; other references stay as they are, and
 * `unresolved` says why. Nothing is written.
 */
export const resolveReferences = <ThrowOnError extends boolean = false>(options: Options<ResolveReferencesData, ThrowOnError>): RequestResult<ResolveReferencesResponses, ResolveReferencesErrors, ThrowOnError> => (options.client ?? client).post<ResolveReferencesResponses, ResolveReferencesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/resolve',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * List Pages
 *
 * List pages, newest first, without their contents. `level` is the level they are shown at.
 */
export const listPages = <ThrowOnError extends boolean = false>(options?: Options<ListPagesData, ThrowOnError>): RequestResult<ListPagesResponses, ListPagesErrors, ThrowOnError> => (options?.client ?? client).get<ListPagesResponses, ListPagesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages',
    ...options
});

/**
 * Create Page
 *
 * Create a page. It is given an id, unless it brings one that no page has yet.
 *
 * With an `Idempotency-Key` the same request again gives the same page as it is by then, or a 404
 * if it was deleted meanwhile: it never makes a second one.
 */
export const createPage = <ThrowOnError extends boolean = false>(options: Options<CreatePageData, ThrowOnError>): RequestResult<CreatePageResponses, CreatePageErrors, ThrowOnError> => (options.client ?? client).post<CreatePageResponses, CreatePageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Create Pages
 *
 * Create up to 1,000 pages in one transaction: all of them, or none.
 *
 * The answer has them in the order given, without their contents.
 */
export const createPages = <ThrowOnError extends boolean = false>(options: Options<CreatePagesData, ThrowOnError>): RequestResult<CreatePagesResponses, CreatePagesErrors, ThrowOnError> => (options.client ?? client).post<CreatePagesResponses, CreatePagesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/bulk',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Search Pages
 *
 * Search hint, caption, transcript, scenes and text of pages; best match first.
 *
 * A page whose id is searched for stands before all others. Case and accents do not matter. Of a
 * search that matches very many pages, the newest 1,000 are ranked.
 */
export const searchPages = <ThrowOnError extends boolean = false>(options: Options<SearchPagesData, ThrowOnError>): RequestResult<SearchPagesResponses, SearchPagesErrors, ThrowOnError> => (options.client ?? client).get<SearchPagesResponses, SearchPagesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/search',
    ...options
});

/**
 * Delete Page
 *
 * Delete a page with its levels. What a session's history says of it stays.
 */
export const deletePage = <ThrowOnError extends boolean = false>(options: Options<DeletePageData, ThrowOnError>): RequestResult<DeletePageResponses, DeletePageErrors, ThrowOnError> => (options.client ?? client).delete<DeletePageResponses, DeletePageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}',
    ...options
});

/**
 * Get Page
 *
 * Read a page. Its ETag stands for everything but the access counters.
 */
export const getPage = <ThrowOnError extends boolean = false>(options: Options<GetPageData, ThrowOnError>): RequestResult<GetPageResponses, GetPageErrors, ThrowOnError> => (options.client ?? client).get<GetPageResponses, GetPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}',
    ...options
});

/**
 * Head Page
 *
 * Read a page. Its ETag stands for everything but the access counters.
 */
export const headPage = <ThrowOnError extends boolean = false>(options: Options<HeadPageData, ThrowOnError>): RequestResult<HeadPageResponses, HeadPageErrors, ThrowOnError> => (options.client ?? client).head<HeadPageResponses, HeadPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}',
    ...options
});

/**
 * Patch Page
 *
 * Change what is said about a page by a merge patch (RFC 7396); its content stays.
 *
 * Derived levels follow; supplied ones stay.
 */
export const patchPage = <ThrowOnError extends boolean = false>(options: Options<PatchPageData, ThrowOnError>): RequestResult<PatchPageResponses, PatchPageErrors, ThrowOnError> => (options.client ?? client).patch<PatchPageResponses, PatchPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}',
    ...options,
    headers: {
        'Content-Type': 'application/merge-patch+json',
        ...options.headers
    }
});

/**
 * Put Page
 *
 * Create a page, or replace it. Levels that were supplied stay as long as the content does.
 *
 * A `data:` URI from 1,024 bytes on, and every recording, is moved to the resources; the page
 * keeps the reference. The same page again changes nothing.
 */
export const putPage = <ThrowOnError extends boolean = false>(options: Options<PutPageData, ThrowOnError>): RequestResult<PutPageResponses, PutPageErrors, ThrowOnError> => (options.client ?? client).put<PutPageResponses, PutPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Page Content
 *
 * Read what a page holds at a level, typed by its modality.
 *
 * Without `level`, at the level the page names itself. Every field is there: null is unknown,
 * and `0.0` is a duration.
 */
export const getPageContent = <ThrowOnError extends boolean = false>(options: Options<GetPageContentData, ThrowOnError>): RequestResult<GetPageContentResponses, GetPageContentErrors, ThrowOnError> => (options.client ?? client).get<GetPageContentResponses, GetPageContentErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/content',
    ...options
});

/**
 * Get Page Blocks
 *
 * Read a page as the content of a tool message: an image with its annotation, or text.
 *
 * The image is attached at FULL and REDUCED, if it is really there. `level` is the one that is
 * shown: where `requested_level` holds all that FULL does, it is FULL. `truncated`, `total_chars`
 * and `next_offset` say what `max_chars` left out.
 */
export const getPageBlocks = <ThrowOnError extends boolean = false>(options: Options<GetPageBlocksData, ThrowOnError>): RequestResult<GetPageBlocksResponses, GetPageBlocksErrors, ThrowOnError> => (options.client ?? client).get<GetPageBlocksResponses, GetPageBlocksErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/blocks',
    ...options
});

/**
 * Fault Page
 *
 * Fault a page in: the tool message that puts it before a model.
 *
 * With `session_id` the message is appended to the session's history; the same `tool_call_id`
 * again gives the same message. A page that is not there is a 404, and an id or a level that
 * cannot be is a 422, that carries the tool message to give to the model instead.
 */
export const faultPage = <ThrowOnError extends boolean = false>(options: Options<FaultPageData, ThrowOnError>): RequestResult<FaultPageResponses, FaultPageErrors, ThrowOnError> => (options.client ?? client).post<FaultPageResponses, FaultPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/fault',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Download Page
 *
 * Download a page as a file, by default its FULL level.
 *
 * The file behind an address is fetched once and kept, guarded: only public addresses, or those
 * that `PAGEFAULT_FETCH__ALLOW` names.
 */
export const downloadPage = <ThrowOnError extends boolean = false>(options: Options<DownloadPageData, ThrowOnError>): RequestResult<DownloadPageResponses, DownloadPageErrors, ThrowOnError> => (options.client ?? client).get<DownloadPageResponses, DownloadPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/download',
    ...options
});

/**
 * Head Page Download
 *
 * Download a page as a file, by default its FULL level.
 *
 * The file behind an address is fetched once and kept, guarded: only public addresses, or those
 * that `PAGEFAULT_FETCH__ALLOW` names.
 */
export const headPageDownload = <ThrowOnError extends boolean = false>(options: Options<HeadPageDownloadData, ThrowOnError>): RequestResult<HeadPageDownloadResponses, HeadPageDownloadErrors, ThrowOnError> => (options.client ?? client).head<HeadPageDownloadResponses, HeadPageDownloadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/download',
    ...options
});

/**
 * Delete Page Representation
 *
 * Give a supplied level back: it is derived again, as far as it can be.
 */
export const deletePageRepresentation = <ThrowOnError extends boolean = false>(options: Options<DeletePageRepresentationData, ThrowOnError>): RequestResult<DeletePageRepresentationResponses, DeletePageRepresentationErrors, ThrowOnError> => (options.client ?? client).delete<DeletePageRepresentationResponses, DeletePageRepresentationErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/representations/{level}',
    ...options
});

/**
 * Get Page Representation
 *
 * Read one level as it is stored, and whether it was stored, supplied or derived.
 */
export const getPageRepresentation = <ThrowOnError extends boolean = false>(options: Options<GetPageRepresentationData, ThrowOnError>): RequestResult<GetPageRepresentationResponses, GetPageRepresentationErrors, ThrowOnError> => (options.client ?? client).get<GetPageRepresentationResponses, GetPageRepresentationErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/representations/{level}',
    ...options
});

/**
 * Put Page Representation
 *
 * Supply a level above FULL: a summary, a transcript, a caption, or a smaller image.
 *
 * It may not be longer than the level below it. Levels above it that were derived are derived
 * anew.
 */
export const putPageRepresentation = <ThrowOnError extends boolean = false>(options: Options<PutPageRepresentationData, ThrowOnError>): RequestResult<PutPageRepresentationResponses, PutPageRepresentationErrors, ThrowOnError> => (options.client ?? client).put<PutPageRepresentationResponses, PutPageRepresentationErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/representations/{level}',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * List Sessions
 *
 * List sessions, the one last written to first, with their counts and sizes.
 */
export const listSessions = <ThrowOnError extends boolean = false>(options?: Options<ListSessionsData, ThrowOnError>): RequestResult<ListSessionsResponses, ListSessionsErrors, ThrowOnError> => (options?.client ?? client).get<ListSessionsResponses, ListSessionsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions',
    ...options
});

/**
 * Delete Session
 *
 * Delete a session with its history and its pages, in one transaction.
 *
 * The receipt says of each resource it used whether it was deleted, or who still uses it.
 */
export const deleteSession = <ThrowOnError extends boolean = false>(options: Options<DeleteSessionData, ThrowOnError>): RequestResult<DeleteSessionResponses, DeleteSessionErrors, ThrowOnError> => (options.client ?? client).delete<DeleteSessionResponses, DeleteSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}',
    ...options
});

/**
 * Get Session
 *
 * Read what a session holds: counts, bytes referenced, bytes saved against inline storage.
 */
export const getSession = <ThrowOnError extends boolean = false>(options: Options<GetSessionData, ThrowOnError>): RequestResult<GetSessionResponses, GetSessionErrors, ThrowOnError> => (options.client ?? client).get<GetSessionResponses, GetSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}',
    ...options
});

/**
 * Head Session
 *
 * Read what a session holds: counts, bytes referenced, bytes saved against inline storage.
 */
export const headSession = <ThrowOnError extends boolean = false>(options: Options<HeadSessionData, ThrowOnError>): RequestResult<HeadSessionResponses, HeadSessionErrors, ThrowOnError> => (options.client ?? client).head<HeadSessionResponses, HeadSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}',
    ...options
});

/**
 * Put Session
 *
 * Create a session with nothing in it. Nobody has to: the first write to a session does it.
 *
 * It takes no body, or an empty object.
 */
export const putSession = <ThrowOnError extends boolean = false>(options: Options<PutSessionData, ThrowOnError>): RequestResult<PutSessionResponses, PutSessionErrors, ThrowOnError> => (options.client ?? client).put<PutSessionResponses, PutSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}',
    ...options
});

/**
 * Get Manifest
 *
 * Read what a model is told of the session's pages: what there is, and at which levels.
 *
 * Pinned pages first, then important, then new ones. A page is one line, whatever it holds.
 */
export const getManifest = <ThrowOnError extends boolean = false>(options: Options<GetManifestData, ThrowOnError>): RequestResult<GetManifestResponses, GetManifestErrors, ThrowOnError> => (options.client ?? client).get<GetManifestResponses, GetManifestErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/manifest',
    ...options
});

/**
 * List Messages
 *
 * Replay a session: everything written to it in the order of `seq`, each as it was written.
 *
 * Tool results, page faults, messages, interactions and their answers share one numbering with
 * the writes of the session's pages, which are told in its events only.
 */
export const listMessages = <ThrowOnError extends boolean = false>(options: Options<ListMessagesData, ThrowOnError>): RequestResult<ListMessagesResponses, ListMessagesErrors, ThrowOnError> => (options.client ?? client).get<ListMessagesResponses, ListMessagesErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/messages',
    ...options
});

/**
 * Append Message
 *
 * Append a message in a model's dialect: `content` is text, a list of blocks, or null.
 *
 * It is kept as it is, block for block. Media from 1,024 bytes on are moved to the resources, and
 * `@blob:` references take their places. A tool call has one answer: the same one again gives the
 * stored one, with 200.
 */
export const appendMessage = <ThrowOnError extends boolean = false>(options: Options<AppendMessageData, ThrowOnError>): RequestResult<AppendMessageResponses, AppendMessageErrors, ThrowOnError> => (options.client ?? client).post<AppendMessageResponses, AppendMessageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/messages',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Message
 *
 * Read one entry of a session's history by its number, whatever its kind.
 */
export const getMessage = <ThrowOnError extends boolean = false>(options: Options<GetMessageData, ThrowOnError>): RequestResult<GetMessageResponses, GetMessageErrors, ThrowOnError> => (options.client ?? client).get<GetMessageResponses, GetMessageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/messages/{seq}',
    ...options
});

/**
 * List Interactions
 *
 * List the interactions of a session in the order of `seq`, with their answers.
 */
export const listInteractions = <ThrowOnError extends boolean = false>(options: Options<ListInteractionsData, ThrowOnError>): RequestResult<ListInteractionsResponses, ListInteractionsErrors, ThrowOnError> => (options.client ?? client).get<ListInteractionsResponses, ListInteractionsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/interactions',
    ...options
});

/**
 * Create Interaction
 *
 * Append a user's turn: text, a `MultiModalInput`, or a legacy object, kept whole.
 *
 * Attached files are resources of the project, by URI, bare id or alias, and stay bound to them;
 * all that are missing are named in one answer. With `attachments=any` they are taken, and their
 * `status` is `unknown`. With `input_kind` an input of another kind is refused.
 */
export const createInteraction = <ThrowOnError extends boolean = false>(options: Options<CreateInteractionData, ThrowOnError>): RequestResult<CreateInteractionResponses, CreateInteractionErrors, ThrowOnError> => (options.client ?? client).post<CreateInteractionResponses, CreateInteractionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/interactions',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Interaction
 *
 * Read an interaction, with its answer if it has one.
 */
export const getInteraction = <ThrowOnError extends boolean = false>(options: Options<GetInteractionData, ThrowOnError>): RequestResult<GetInteractionResponses, GetInteractionErrors, ThrowOnError> => (options.client ?? client).get<GetInteractionResponses, GetInteractionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/interactions/{interaction_id}',
    ...options
});

/**
 * Set Interaction Output
 *
 * Set the answer of an interaction, once: the same again changes nothing, another is a 409.
 *
 * The answer is an entry of the session's history of its own.
 */
export const setInteractionOutput = <ThrowOnError extends boolean = false>(options: Options<SetInteractionOutputData, ThrowOnError>): RequestResult<SetInteractionOutputResponses, SetInteractionOutputErrors, ThrowOnError> => (options.client ?? client).put<SetInteractionOutputResponses, SetInteractionOutputErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/interactions/{interaction_id}/output',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Export Session
 *
 * Download a whole session as a zip: history, pages, interactions, and every blob once.
 *
 * The same session gives the same bytes.
 */
export const exportSession = <ThrowOnError extends boolean = false>(options: Options<ExportSessionData, ThrowOnError>): RequestResult<ExportSessionResponses, ExportSessionErrors, ThrowOnError> => (options.client ?? client).get<ExportSessionResponses, ExportSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/bundle',
    ...options
});

/**
 * Import Session
 *
 * Restore a session from its bundle, with the same ids and the same bytes.
 *
 * Every byte of the bundle is checked first; one that is damaged is refused whole.
 */
export const importSession = <ThrowOnError extends boolean = false>(options: Options<ImportSessionData, ThrowOnError>): RequestResult<ImportSessionResponses, ImportSessionErrors, ThrowOnError> => (options.client ?? client).post<ImportSessionResponses, ImportSessionErrors, ThrowOnError>({
    bodySerializer: null,
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/import',
    ...options,
    headers: {
        'Content-Type': 'application/zip',
        ...options.headers
    }
});

/**
 * Examine History
 *
 * Find what is wrong with a history of any dialect, and heal it.
 *
 * Nothing is stored, and nothing is fetched. The healed history is what a rendering for the target
 * would be; `loss` says what it lacks.
 */
export const examineHistory = <ThrowOnError extends boolean = false>(options: Options<ExamineHistoryData, ThrowOnError>): RequestResult<ExamineHistoryResponses, ExamineHistoryErrors, ThrowOnError> => (options.client ?? client).post<ExamineHistoryResponses, ExamineHistoryErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/doctor',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Render Tool Result
 *
 * Render a tool result for a model, as the answer to its call.
 *
 * What the target cannot take is made smaller, or described in words; `loss` says what and why.
 * The same call gives the same bytes.
 */
export const renderToolResult = <ThrowOnError extends boolean = false>(options: Options<RenderToolResultData, ThrowOnError>): RequestResult<RenderToolResultResponses, RenderToolResultErrors, ThrowOnError> => (options.client ?? client).get<RenderToolResultResponses, RenderToolResultErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tool-results/{tool_result_id}/render',
    ...options
});

/**
 * Render Page
 *
 * Render a page at a level for a model, as the answer to the call that faults it in.
 */
export const renderPage = <ThrowOnError extends boolean = false>(options: Options<RenderPageData, ThrowOnError>): RequestResult<RenderPageResponses, RenderPageErrors, ThrowOnError> => (options.client ?? client).get<RenderPageResponses, RenderPageErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/pages/{page_id}/render',
    ...options
});

/**
 * Render Session
 *
 * Render the history of a session as one list of messages, in the provider's order.
 *
 * Appending to the session changes no message that was rendered before, unless a limit makes an
 * older medium step down, which `loss` then says.
 */
export const renderSession = <ThrowOnError extends boolean = false>(options: Options<RenderSessionData, ThrowOnError>): RequestResult<RenderSessionResponses, RenderSessionErrors, ThrowOnError> => (options.client ?? client).get<RenderSessionResponses, RenderSessionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/render',
    ...options
});

/**
 * Render Session On
 *
 * Render the history of a session within limits, and remember how far it was evicted.
 *
 * With `frontier`, what is evicted stays so, and is evicted in batches: until the next one every
 * rendering only appends to the last, so that a provider's cache keeps its worth.
 */
export const renderSessionOn = <ThrowOnError extends boolean = false>(options: Options<RenderSessionOnData, ThrowOnError>): RequestResult<RenderSessionOnResponses, RenderSessionOnErrors, ThrowOnError> => (options.client ?? client).post<RenderSessionOnResponses, RenderSessionOnErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/render',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Render Record
 *
 * Render a stored record with options too long for an address.
 *
 * It writes nothing, but that smaller images are kept for the next one, and how far a frontier
 * has moved that is given by its name.
 */
export const renderRecord = <ThrowOnError extends boolean = false>(options: Options<RenderRecordData, ThrowOnError>): RequestResult<RenderRecordResponses, RenderRecordErrors, ThrowOnError> => (options.client ?? client).post<RenderRecordResponses, RenderRecordErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/render',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * List Tools
 *
 * Read the definitions of the memory's tools, in the dialect of a provider.
 *
 * They go into the provider's request under `tools`. A model's calls of them go to
 * `POST /api/sessions/{session_id}/tool-calls`, which answers with what to append.
 */
export const listTools = <ThrowOnError extends boolean = false>(options: Options<ListToolsData, ThrowOnError>): RequestResult<ListToolsResponses, ListToolsErrors, ThrowOnError> => (options.client ?? client).get<ListToolsResponses, ListToolsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tools',
    ...options
});

/**
 * Get Tool Instructions
 *
 * Read the rules that a model needs to use its memory well, to be put before it as they are.
 */
export const getToolInstructions = <ThrowOnError extends boolean = false>(options?: Options<GetToolInstructionsData, ThrowOnError>): RequestResult<GetToolInstructionsResponses, GetToolInstructionsErrors, ThrowOnError> => (options?.client ?? client).get<GetToolInstructionsResponses, GetToolInstructionsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/tools/instructions',
    ...options
});

/**
 * Run Tool Call
 *
 * Run a model's call of one of the tools; `messages` is what to append to the conversation.
 *
 * The answer is 200 whether the call could be run or not: a model that sent wrong arguments, or
 * asked for what is not there, is told what to do instead, with the provider's mark for errors.
 * Call and answer are entries of the session's history. The same call again is answered again
 * and not run again.
 */
export const runToolCall = <ThrowOnError extends boolean = false>(options: Options<RunToolCallData, ThrowOnError>): RequestResult<RunToolCallResponses, RunToolCallErrors, ThrowOnError> => (options.client ?? client).post<RunToolCallResponses, RunToolCallErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/tool-calls',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Append Turn
 *
 * Append messages, tool results and calls of our tools in one transaction, and render.
 *
 * Calls of our tools are run first. If anything fails, nothing is appended. With an
 * `Idempotency-Key` the same turn again is not appended again, and is rendered anew;
 * `expectedSeq` refuses a turn that somebody else's entries have overtaken.
 */
export const appendTurn = <ThrowOnError extends boolean = false>(options: Options<AppendTurnData, ThrowOnError>): RequestResult<AppendTurnResponses, AppendTurnErrors, ThrowOnError> => (options.client ?? client).post<AppendTurnResponses, AppendTurnErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/turns',
    ...options,
    headers: {
        'Content-Type': 'application/json',
        ...options.headers
    }
});

/**
 * Get Upload Options
 *
 * Say what of the protocol is spoken here, and how long a file may be.
 */
export const getUploadOptions = <ThrowOnError extends boolean = false>(options?: Options<GetUploadOptionsData, ThrowOnError>): RequestResult<GetUploadOptionsResponses, GetUploadOptionsErrors, ThrowOnError> => (options?.client ?? client).options<GetUploadOptionsResponses, GetUploadOptionsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads',
    ...options
});

/**
 * Create Upload
 *
 * Begin an upload of a file of known length; `Location` is where its pieces go.
 */
export const createUpload = <ThrowOnError extends boolean = false>(options?: Options<CreateUploadData, ThrowOnError>): RequestResult<CreateUploadResponses, CreateUploadErrors, ThrowOnError> => (options?.client ?? client).post<CreateUploadResponses, CreateUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads',
    ...options
});

/**
 * Delete Upload
 *
 * Give an upload up. A resource that came of it stays.
 */
export const deleteUpload = <ThrowOnError extends boolean = false>(options: Options<DeleteUploadData, ThrowOnError>): RequestResult<DeleteUploadResponses, DeleteUploadErrors, ThrowOnError> => (options.client ?? client).delete<DeleteUploadResponses, DeleteUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads/{upload_id}',
    ...options
});

/**
 * Get Upload
 *
 * Read the same as JSON, with the resource that became of it.
 */
export const getUpload = <ThrowOnError extends boolean = false>(options: Options<GetUploadData, ThrowOnError>): RequestResult<GetUploadResponses, GetUploadErrors, ThrowOnError> => (options.client ?? client).get<GetUploadResponses, GetUploadErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads/{upload_id}',
    ...options
});

/**
 * Get Upload Offset
 *
 * Say where to go on with an upload: `Upload-Offset` is where the next piece begins.
 *
 * A piece that is still being sent ends with this, and what came of it is kept.
 */
export const getUploadOffset = <ThrowOnError extends boolean = false>(options: Options<GetUploadOffsetData, ThrowOnError>): RequestResult<GetUploadOffsetResponses, GetUploadOffsetErrors, ThrowOnError> => (options.client ?? client).head<GetUploadOffsetResponses, GetUploadOffsetErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads/{upload_id}',
    ...options
});

/**
 * Append Upload
 *
 * Send the next piece. What comes of it is kept, even if the request breaks.
 *
 * With the last piece the file is a resource: `Upload-Resource` is its URI.
 */
export const appendUpload = <ThrowOnError extends boolean = false>(options: Options<AppendUploadData, ThrowOnError>): RequestResult<AppendUploadResponses, AppendUploadErrors, ThrowOnError> => (options.client ?? client).patch<AppendUploadResponses, AppendUploadErrors, ThrowOnError>({
    bodySerializer: null,
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/uploads/{upload_id}',
    ...options,
    headers: {
        'Content-Type': 'application/offset+octet-stream',
        ...options.headers
    }
});

/**
 * Stream Events
 *
 * Listen to everything that is written to the project, as server-sent events.
 *
 * `id` is the event's number in the project's log: 1, 2, 3 … in the order of the commits. Come
 * back with the last one seen, and nothing is missed or told twice. A `reset` says that this is no
 * longer possible: what you show has to be loaded anew.
 */
export const streamEvents = <ThrowOnError extends boolean = false>(options?: Options<StreamEventsData, ThrowOnError, StreamEventsResponse>): Promise<ServerSentEventsResult<StreamEventsResponses>> => (options?.client ?? client).sse.get<StreamEventsResponses, StreamEventsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/events',
    ...options
});

/**
 * Stream Session Events
 *
 * Listen to what is written to a session, as server-sent events.
 *
 * `id` is the session's `seq`, the same as in its history: read the history, then listen `after`
 * its last `seq`. Nothing has to have been written to the session yet.
 */
export const streamSessionEvents = <ThrowOnError extends boolean = false>(options: Options<StreamSessionEventsData, ThrowOnError, StreamSessionEventsResponse>): Promise<ServerSentEventsResult<StreamSessionEventsResponses>> => (options.client ?? client).sse.get<StreamSessionEventsResponses, StreamSessionEventsErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/sessions/{session_id}/events',
    ...options
});

/**
 * Create Event Ticket
 *
 * Make a ticket to begin listening with, for browsers, whose EventSource sends no headers.
 *
 * It holds for a minute and permits nothing else. A stream that has begun goes on behind it, until
 * the key is revoked.
 */
export const createEventTicket = <ThrowOnError extends boolean = false>(options?: Options<CreateEventTicketData, ThrowOnError>): RequestResult<CreateEventTicketResponses, CreateEventTicketErrors, ThrowOnError> => (options?.client ?? client).post<CreateEventTicketResponses, CreateEventTicketErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/events/ticket',
    ...options
});

/**
 * Get Health
 *
 * Say that the process answers.
 */
export const getHealth = <ThrowOnError extends boolean = false>(options?: Options<GetHealthData, ThrowOnError>): RequestResult<GetHealthResponses, GetHealthErrors, ThrowOnError> => (options?.client ?? client).get<GetHealthResponses, GetHealthErrors, ThrowOnError>({ url: '/healthz', ...options });

/**
 * Get Readiness
 *
 * Say that both stores answer; 503 if one does not, 507 if there is no room for a file.
 *
 * It costs a query and a small file, or a read in a bucket: see `BlobStore.check`.
 */
export const getReadiness = <ThrowOnError extends boolean = false>(options?: Options<GetReadinessData, ThrowOnError>): RequestResult<GetReadinessResponses, GetReadinessErrors, ThrowOnError> => (options?.client ?? client).get<GetReadinessResponses, GetReadinessErrors, ThrowOnError>({ url: '/readyz', ...options });

/**
 * Get Version
 *
 * Say which version of the service answers.
 */
export const getVersion = <ThrowOnError extends boolean = false>(options?: Options<GetVersionData, ThrowOnError>): RequestResult<GetVersionResponses, GetVersionErrors, ThrowOnError> => (options?.client ?? client).get<GetVersionResponses, GetVersionErrors, ThrowOnError>({
    security: [{ scheme: 'bearer', type: 'http' }],
    url: '/api/version',
    ...options
});

/**
 * Get Metrics
 *
 * Metrics in Prometheus' text format.
 */
export const getMetrics = <ThrowOnError extends boolean = false>(options?: Options<GetMetricsData, ThrowOnError>): RequestResult<GetMetricsResponses, GetMetricsErrors, ThrowOnError> => (options?.client ?? client).get<GetMetricsResponses, GetMetricsErrors, ThrowOnError>({ url: '/metrics', ...options });
