// Package timestamp requests, verifies and stores time stamps of RFC 3161.
//
// A time stamp authority (TSA) signs a token with the hash of some data and the time. The token
// proves that the data existed at that time. It does not prove who made the data, because every
// client can request a token for any data.
//
// The package parses only DER and is stricter than the RFC requires. [Parse] accepts exactly one
// signature, SHA-2 hashes and no unknown critical extension. [Token.CheckSignature] uses only the
// certificate that the signed attribute signing-certificate names. Time stamping must be its only
// purpose. [Token.Verify] also checks its chain at the time of the token, but not whether it was
// revoked.
//
// No library for CMS is used, because the Go libraries accept several signatures, BER, SHA-1 and
// tokens without signed attributes.
//
// [Stored] is the file format for a token and its data.
package timestamp
