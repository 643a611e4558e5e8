// Package bundletest forges bundles. It changes a file as an attacker without the key would, and
// then computes again all hashes and files that need no signature. It shares no code with package
// bundle.
package bundletest
