// Package outcomes compares the outcomes and costs of imported runs with a reader in Python that
// shares no code with the import.
package outcomes
