// Package platform contains the packages that know nothing about events, evidence or issues.
//
// All other packages may import them, except cli, which is only for commands. They import no other
// package of this module.
package platform
