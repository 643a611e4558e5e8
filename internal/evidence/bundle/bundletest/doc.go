// Package bundletest forges bundles for tests. It acts as an attacker without the ledger's key.
// When it has changed a file, it also repairs all hashes and files that can be repaired without a
// signature. It shares no code with package bundle.
package bundletest
