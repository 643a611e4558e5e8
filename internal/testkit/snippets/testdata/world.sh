# The world of the documents: what a reader of any page has. It runs once, and each page
# begins with a copy.

# The first examples of docs/hooks-yaml.md and docs/tracker.md are files here.
printf 'fail-with-body\nsilent\nshow-error\n' > ~/.curlrc
for file in hooks.yaml no_network.sh call.json; do
  sed -n "/^\`\`\`[a-z]* $file/,/^\`\`\`/p" /src/docs/hooks-yaml.md | sed '1d;$d' > $file
done
chmod +x no_network.sh
cp hooks.yaml no_network.sh /etc/hooktrail
sed -n '/^```json/,/^```/p;/^```text/q' /src/docs/tracker.md | sed '/^```/d' > history.jsonl
ln -s /src/internal internal

# Recorded sessions of real agents, and the run r-42, in the ledgers of two tenants.
mkdir -p ~/.claude/projects ~/.codex/sessions trajectories
cp /data/claude-code/entireio-cli/00-c9e2351016-0/full.jsonl ~/.claude/projects
cp $(find /data/codex/madshn-localpush/raw/sessions -name '*.jsonl' | sort | head -n 1) ~/.codex/sessions
cp ~/.claude/projects/full.jsonl session.jsonl
cat > events.jsonl <<'EVENTS'
{"specversion":"1.0","id":"r-42-1","source":"/engine","type":"hooktrail.run.started","subject":"r-42","time":"2026-11-20T09:14:07.1Z","userid":"jane","data":{"title":"nightly","run_type":"RESOLVE"}}
{"specversion":"1.0","id":"01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01","source":"/engine","type":"hooktrail.tool.before","subject":"r-42","time":"2026-11-20T09:14:07.123456789Z","toolcall":"toolu_01","userid":"jane","data":{"tool":"Bash","args":{"command":"make"},"verdict":"allow"}}
{"specversion":"1.0","id":"r-42-3","source":"/engine","type":"hooktrail.tool.result","subject":"r-42","time":"2026-11-20T09:14:07.3Z","toolcall":"toolu_01","userid":"jane","data":{"tool":"Bash","status":"success"}}
{"specversion":"1.0","id":"0198c0de-0000-7000-8000-00000001","source":"/engine","type":"hooktrail.step.finished","subject":"r-42","time":"2026-11-20T09:14:07.5Z","stepid":"s1","data":{"agent_role":"CODER","step_status":"failed","error":{"message":"bad checksum"}}}
{"specversion":"1.0","id":"r-42-5","source":"/engine","type":"hooktrail.run.finished","subject":"r-42","time":"2026-11-20T09:14:07.9Z","data":{"success":false}}
EVENTS
for tenant in default acme; do
  publisher import --tenant $tenant session.jsonl
  publisher pipe --tenant $tenant < events.jsonl
done
{ publisher serve & until curl http://127.0.0.1:8080/livez; do sleep 0.1; done; kill $!; wait $!; }
tracker serve --drain
auditor serve --drain

# Files that a reader has of the ledger, of another person and of a server of their own.
data=$HOME/.local/share/hooktrail
cp "$data/keys/ledger.pub" .
auditor replay --tenant acme --run r-42 | sed -n 2p | tr -d '\n' > e.json
auditor export --tenant acme --run r-42 --out r-42.zip
auditor verify --tenant acme --json | jq -r .checkpoint.note > kept.checkpoint
mkdir copy && cp "$data"/ledger/acme/ledger.db* copy && cp copy/ledger.db* .
ssh-keygen -q -t ed25519 -N '' -f amy && ssh-keygen -q -t ed25519 -N '' -f bob
cat > nats.conf <<'CONF'
listen: "0.0.0.0:4222"
jetstream { store_dir: "/tmp/nats", sync_interval: always, limits { batch { max_inflight_per_stream: 1000 } } }
CONF
