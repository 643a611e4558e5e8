// Package tokens manages the bearer tokens of HTTP senders. A token belongs to one
// tenant.
//
// A token is "htk_", an id of eight hex digits, "_" and 256 random bits in base64url,
// for example "htk_1f0c2a7e_0Xk…". The file stores the id, the tenant and the SHA-256
// of the token, so its reader cannot send events. It is one JSON object with mode
// 0600, and is replaced atomically under a lock.
//
// Tokens are required once the file exists, even if it has no tokens. A [File] notices
// changes at once.
package tokens
