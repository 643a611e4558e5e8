// Package bundletest forges bundles for tests. It acts as an attacker without the ledger's key.
// After a change it computes all hashes and files again that need no signature. It shares no code
// with package bundle.
package bundletest
