package ledgertest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// BigFeed returns a feed with all kinds of valid records.
func BigFeed() *Feed {
	f := NewFeed("acme")
	f.Run("coder/e4", "r1", 150)
	f.Run("tester", "r2", 20)
	chunk := f.Event("coder/e4", "r3", events.BlobChunk, events.BlobChunkData{
		SHA256: events.HashOf([]byte("content")).String(), Bytes: 7, Chunks: 1, Content: []byte("content"),
	})
	f.Run("coder/e4", "r3", 1)
	again, err := events.Decode(f.Messages[0].Data)
	if err != nil {
		panic(err)
	}
	f.Publish("import", again)
	f.Publish("import", chunk)
	f.Manifest("import")
	return f
}

// BenchFeed returns a feed with n events of about a kilobyte, in batches of 500 with manifests.
func BenchFeed(n int) *Feed { return fillBench(NewFeed("acme"), n) }

// SignedBenchFeed is like [BenchFeed], with signed manifests.
func SignedBenchFeed(n int) *Feed {
	f := NewFeed("acme")
	f.Sign("coder")
	return fillBench(f, n)
}

func fillBench(f *Feed, n int) *Feed {
	filler := bytes.Repeat([]byte("x"), 560)
	for i := 0; len(f.Messages) < n; i++ {
		run := fmt.Sprint("run-", i)
		f.Event("coder", run, events.RunStarted, events.RunStartedData{})
		for range 249 {
			f.Event("coder", run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":"%s"}`, filler)})
			f.Event("coder", run, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, Result: fmt.Appendf(nil, `"%s"`, filler)})
		}
		f.Event("coder", run, events.RunFinished, events.RunFinishedData{})
		f.Seal("coder", run)
		f.Manifest("coder")
	}
	return f
}

// GauntletFeed returns a feed with so many different records that every table of the ledger has
// rows.
func GauntletFeed() *Feed {
	f := BigFeed()
	e, err := events.Decode(f.Messages[1].Data)
	if err != nil {
		panic(err)
	}
	e.Data = []byte(`{"tool":"Forged"}`)
	f.Publish("import", e)
	e.Producer, e.Sequence = "coder/e4", 2
	f.Add(f.Messages[1].Address, e.Encode())
	f.Add(subjects.Address{Tenant: f.Tenant, Producer: "coder/e4", Run: "r1", Kind: events.ToolBefore}, []byte("{"))
	f.Manifest("import")
	return f
}

// Secret returns the text that [Feed.Secretive] puts into the payloads of the given run. Nothing
// else contains this text.
func Secret(run string) []byte { return []byte("the secret of " + run + ";") }

// Secretive publishes a sealed run with n prompts. Each prompt contains the text [Secret](run), so
// that a test can search for it after an erasure.
func (f *Feed) Secretive(producer, run, user string, n int) {
	for i := range n {
		e, err := events.New(events.PromptSubmit, "/test", events.PromptSubmitData{
			Prompt: fmt.Sprintf("%s%s", Secret(run), strings.Repeat("x", i*997%9000)),
		})
		if err != nil {
			panic(err)
		}
		e.ID, e.Run, e.Subject, e.User = events.DeriveID(producer, run, fmt.Sprint(i)), run, run, user
		f.Publish(producer, e)
	}
	f.Seal(producer, run)
	f.Manifest(producer)
}
