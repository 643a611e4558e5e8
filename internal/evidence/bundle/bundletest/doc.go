// Package bundletest changes bundles like an attacker without the key, who repairs everything that
// needs no signature. It shares no code with package bundle.
package bundletest
