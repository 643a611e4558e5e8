// Package platform contains packages that do not depend on events, evidence or issues.
//
// They import no other package of this module. Any package may import them, but cli is only for
// commands.
package platform
