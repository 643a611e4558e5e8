// Package testkit is the wing of packages for tests only.
//
//	natstest              starts a real NATS server inside a test
//	realdata              finds recorded sessions of real agents
//	nodetest, pythontest  run Node and Python programs
//	agents                installs and runs the real agents, in front of a stand-in for their model
//	pyverify              runs a second verifier that was written from the documents
//	metricsdoc            compares the documented metrics with a registry
//	architecture          tests the rules about imports, links and file sizes
//	snippets              runs the blocks of code in the documents
//	e2e                   runs commands as processes and kills them
//	gauntlet              attacks ledgers and bundles, and writes the table of results
//
// No command links a package of this wing. The other wings have their own test packages, whose
// names end in "test".
package testkit
