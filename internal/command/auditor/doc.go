// Package auditor implements the auditor command.
//
// The serve and rebuild commands run the service in internal/evidence/auditor. Commands that read
// evidence open the ledger file and record this use. They need no broker or running auditor.
// Commands that change evidence sign an order and wait until it has taken effect.
//
// # Files
//
// The package has one file for each subcommand, which share flags and printers:
//
//	serve*, rebuild, daily*, anchor_flags, retention_flags  run the service
//	verify*, coverage, pins, access, selection              check ledgers, bundles and proofs
//	report*                                                 print the result of a check
//	export*, proof, record, replay, agentfs, stream*        read evidence
//	order, erase, prune, hold, rules, approve, issuer*      sign orders
//	acknowledge, tolerance                                  accept findings
//	key*                                                    keys and pins
package auditor
