"""Diagnosis and repair of histories, and exports of sessions as transcripts and documents.

doctor_routes, document_routes    the routes
doctor_commands                   the commands `pagefault doctor` and `pagefault export`
doctor                            diagnoses a history, and repairs it by rendering it
history_files                     the command for a history in a file of JSON
transcripts                       the command for a transcript of a coding agent
transcript_files                  reads and replaces files of transcripts
transcript_repairs                repairs a transcript line by line
transcript_exports                writes a session as a transcript
session_exports                   the command for exports
session_documents                 writes a session as a document for people
document_html                     the HTML of the document
"""
