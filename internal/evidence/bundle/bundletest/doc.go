// Package bundletest edits bundles like an attacker without the key, who repairs everything
// that needs no signature. It uses no code of package bundle.
package bundletest
