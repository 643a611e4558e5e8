// Package tokens keeps the bearer tokens by which senders over HTTP show which
// tenant they are.
//
// A token is "htk_", eight hex digits that name it, "_" and 256 random bits in
// base64url: "htk_1f0c2a7e_0Xk…". The file holds the name, the tenant and the
// SHA-256 of the whole, never the token: who can read the file cannot write
// events. It is one JSON object, written as a whole under a lock, mode 0600.
//
// Where the file exists, tokens are required, also if none is left in it. A
// [File] notices changes by itself: a token that was made counts at once, and one
// that was revoked no longer.
package tokens
