package auditor

const verifyHelp = `Verify a ledger from its first byte and print two verdicts and the anchor.

Integrity: no record was altered after it was signed. Completeness: the ledger has
all events that the producers sent. Records in the name of a producer that its key
does not cover are foreign. Verify needs only the ledger file and the public
key, and no server.

Enrolled: how many producers have a key that an issuer granted, whom the ledger's key
trusts (auditor issuer), and which have none.

Anchor: why the key is the right one. PINNED: this user saw it first, and keeps it
outside the data directory (auditor key pin, which hooktrail up and auditor serve do
for the user who runs them). GIVEN: --key, --trusted, --witness-policy or another
stored checkpoint vouches for it. NONE: an attacker who writes to the data directory
can have put another key there.

A thief of the signing key can sign another history. Compare the ledger with a
checkpoint that was stored elsewhere. verify --json prints the newest checkpoint as
checkpoint.note. If --nats-url names a broker, or one runs in the data directory,
verify also compares the ledger with the checkpoint in its bucket.

` + asOfHelp + `With the file of a bundle made by auditor export, verify the bundle instead. Without
--key and without a pinned key that signed it, verify uses the key in the bundle.
Then the bundle is consistent, but its author is not proved.

Findings of status 11, and foreign and misaddressed records, have an id. A finding that
auditor acknowledge has recorded is listed apart. With --allow-acknowledged, the exit
status is about the new ones.

With --run, or with --from and --to, completeness is about that run or time alone. The
times are those at which the server stored the records. A time without events is EMPTY,
which alone is no alarm.

A verdict does not change when all services stop. With --max-age, the ledger is UNPROVEN
if its newest record or checkpoint is older.

With --proof, check the proof of one event made by auditor proof. With --event, also
check that it is the proof of this event. The status is 0 if the proof is valid and
40 if not.

With --report, check a report of auditor report, and compare it with the ledger if that
is here. The status is that of the report, and 40 if the report was altered.

With --tsa-cert, check the time stamps of the ledger or bundle, and require a good one.
They prove how many leaves existed at which time at the latest. They do not vouch for
the key, because everyone can get a time stamp.

With --witness-policy, the witnesses in the file must have cosigned a recent
checkpoint of the ledger, as many as the policy requires.

Exit status, the highest that applies:
   0  verified and complete
  10  too few cosignatures for --witness-policy, or a bad or no time stamp for --tsa-cert
  11  intact, but not complete, with foreign records, older than --max-age, or with
      --require-enrolled and a producer that is not enrolled
  12  intact, but a record claims the id, number or subject of another one, or a denied
      call has a successful result
  20  --require-trusted, and no trusted checkpoint was given or found
  21  no anchor: nothing from elsewhere vouches for the key
  30  diverged from a trusted or time-stamped checkpoint or from the pinned key
  40  invalid`
