// Package bundletest forges bundles for tests, as an attacker without the ledger's key would.
// When it has changed a file, it also repairs all hashes and files that can be repaired without a
// signature, so that only the signature reveals the change. It shares no code with package
// bundle.
package bundletest
