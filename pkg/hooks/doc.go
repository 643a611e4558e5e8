// Package hooks is what orchestrators import: points where hooks decide on,
// transform and watch what an agent does.
package hooks
