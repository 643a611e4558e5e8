// Package bundletest changes bundles for tests. Like an attacker without the ledger's key, it
// repairs the checksums and hashes that a change breaks, but not the signature. It shares no code
// with package bundle.
package bundletest
