package ledger

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// bigFeed has all that a ledger can hold.
func bigFeed() *feed {
	f := newFeed("acme")
	f.run("coder/e4", "r1", 150)
	f.run("tester", "r2", 20)
	chunk := f.event("coder/e4", "r3", events.BlobChunk, events.BlobChunkData{
		SHA256: events.HashOf([]byte("content")).String(), Bytes: 7, Chunks: 1, Content: []byte("content"),
	})
	f.run("coder/e4", "r3", 1)
	// The same content from another producer, as a second import brings it.
	again, err := events.Decode(f.messages[0].Data)
	if err != nil {
		panic(err)
	}
	f.publish("import", again)
	f.publish("import", chunk)
	f.manifest("import")
	return f
}

// benchFeed is events of about a kilobyte, in batches of 500 with manifests.
func benchFeed(n int) *feed {
	f := newFeed("acme")
	filler := bytes.Repeat([]byte("x"), 560)
	for i := 0; len(f.messages) < n; i++ {
		run := fmt.Sprint("run-", i)
		f.event("coder", run, events.RunStarted, events.RunStartedData{})
		for range 249 {
			f.event("coder", run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"%s"}`, filler)})
			f.event("coder", run, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"%s"`, filler)})
		}
		f.event("coder", run, events.RunFinished, events.RunFinishedData{})
		f.seal("coder", run)
		f.manifest("coder")
	}
	return f
}

// gauntletFeed puts something into every table.
func gauntletFeed() *feed {
	f := bigFeed()
	// Another content under an id, and under a number, that is taken.
	e, err := events.Decode(f.messages[1].Data)
	if err != nil {
		panic(err)
	}
	e.Data = []byte(`{"tool":"Forged"}`)
	f.publish("import", e)
	e.Producer, e.Sequence = "coder/e4", 2
	f.add(f.messages[1].Address, e.Encode())
	// Neither an event nor a manifest.
	f.add(subjects.Address{Tenant: f.tenant, Producer: "coder/e4", Run: "r1", Kind: events.ToolBefore}, []byte("{"))
	f.manifest("import")
	return f
}

// secret is what the payloads of a run say and nothing else does.
func secret(run string) []byte { return []byte("the secret of " + run + ";") }

// secretive publishes a sealed run whose payloads have its secret.
func (f *feed) secretive(producer, run, user string, n int) {
	for i := range n {
		e, err := events.New(events.PromptSubmit, "/test", events.PromptSubmitData{
			Prompt: fmt.Sprintf("%s%s", secret(run), strings.Repeat("x", i*997%9000)),
		})
		if err != nil {
			panic(err)
		}
		e.ID, e.Run, e.Subject, e.User = events.DeriveID(producer, run, fmt.Sprint(i)), run, run, user
		f.publish(producer, e)
	}
	f.seal(producer, run)
	f.manifest(producer)
}
