// Package platform is the wing of packages that do not depend on the domain: they know no events,
// evidence or issues.
//
// Every wing may import these packages, except cli, which only commands import. They
// import no other package of this module.
package platform
