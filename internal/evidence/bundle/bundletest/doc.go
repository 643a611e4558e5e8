// Package bundletest changes bundles in the way an attacker would who does not have the key. The
// attacker repairs everything that needs no signature. The package uses no code of package bundle.
package bundletest
