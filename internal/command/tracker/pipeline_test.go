package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
)

func call(t *testing.T, dataDir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return execute(t, Command(), append(args, "--data-dir", dataDir))
}

func callJSON[T any](t *testing.T, dataDir string, args ...string) T {
	t.Helper()
	status, stdout, stderr := call(t, dataDir, append(args, "--json")...)
	return decode[T](t, args, status, stdout, stderr)
}

func execute(t *testing.T, cmd *cobra.Command, args []string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, args)
	return status, out.String(), errs.String()
}

func decode[T any](t *testing.T, args []string, status int, stdout, stderr string) (v T) {
	t.Helper()
	if status != cli.ExitOK {
		t.Fatalf("%v: exit status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%v: %v in %s", args, err, stdout)
	}
	return v
}

type pipeline struct{ *trackertest.Pipeline }

func newPipeline(tb testing.TB) *pipeline {
	tb.Helper()
	return &pipeline{trackertest.New(tb)}
}

func (p *pipeline) mustDrain(change ...func(*tracker.Options)) {
	p.TB.Helper()
	b, err := broker.Open(p.TB.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: tracker.Name})
	if err != nil {
		p.TB.Fatal(err)
	}
	opts := tracker.Options{Broker: b, DataDir: p.DataDir, Drain: true}
	for _, c := range change {
		c(&opts)
	}
	err = tracker.Run(p.TB.Context(), opts)
	if err := errors.Join(err, b.Close(context.WithoutCancel(p.TB.Context()))); err != nil {
		p.TB.Fatal(err)
	}
}

func (p *pipeline) open() (list []tracker.Issue) {
	p.TB.Helper()
	all, err := tracker.List(p.TB.Context(), p.DataDir, "acme")
	if err != nil {
		p.TB.Fatal(err)
	}
	for _, i := range all {
		if i.Status != rules.Closed {
			list = append(list, i)
		}
	}
	return list
}
