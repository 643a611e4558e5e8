// Package platform is the wing of packages that know nothing about events, evidence or issues.
//
// Every wing may import them, except cli, which is only for commands. They import no other package
// of this module.
package platform
