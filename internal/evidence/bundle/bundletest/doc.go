// Package bundletest forges bundles for tests, as an attacker without the ledger's key would. After
// a change, it repairs everything that needs no signature. It shares no code with package bundle.
package bundletest
