// Package tokens manages the bearer tokens of HTTP senders. A token belongs to one
// tenant.
//
// A token is "htk_", an id of eight hex digits, "_" and 256 random bits in base64url,
// for example "htk_1f0c2a7e_0Xk…". The file stores the id, the tenant and the SHA-256
// of the whole token. A reader of the file therefore cannot send events. The file is
// one JSON object with mode 0600. It is replaced atomically under a lock.
//
// Tokens are required once the file exists, even if it is empty. A [File] notices
// changes, so a new token is valid at once and a revoked one is invalid at once.
package tokens
