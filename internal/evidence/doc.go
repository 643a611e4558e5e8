// Package evidence contains the packages that record events so that the record can be proved.
//
// Data flow:
//
//	auditor       the service: reads the stream into one ledger per tenant
//	ledger        the format of a ledger; writer appends and signs, verifier checks
//	asof          finds the events that a ledger does not have yet
//	agentfs       writes what a ledger holds into AgentFS files, one per agent
//	anchor        stores checkpoints outside the data directory: file, bucket, witnesses
//	bundle        exports records with their proof, and as tables
//	statement     signs statements with the ledger's key, for bundles and reports
//	daily         makes reports about a day and checks them
//	ocsf          maps records to the Open Cybersecurity Schema Framework
//	siem          sends records to a SIEM as they arrive
//	tiles         serves a ledger as a tlog-tiles log
//	sshkey        signs with keys in ssh-agent
//	transparency  the C2SP formats that anchor, bundle and tiles exchange
//	runtree       folds the events of a run into its steps and tool calls
//	tail          follows a ledger, with one line for each event
//
// The writer stores a record and signs a checkpoint that covers it. The auditor then copies the
// record to AgentFS files and the checkpoint to the anchors. The verifier compares the ledger with
// the anchors. It never imports the writer, so that it does not repeat the writer's errors. The
// packages in internal/tracking read the same stream independently.
package evidence
