package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestPalette(t *testing.T) {
	if got := PaletteFor(&bytes.Buffer{}).Bad("x"); got != "x" {
		t.Errorf("got %q: colour where there is no terminal", got)
	}
	on := Palette{on: true}
	for _, got := range []string{on.Good("x"), on.Bad("x"), on.Warn("x"), on.Dim("x"), on.Bold("x")} {
		if !strings.HasPrefix(got, "\x1b[") || !strings.HasSuffix(got, "x\x1b[0m") {
			t.Errorf("got %q", got)
		}
	}
	if got := on.Good(""); got != "" {
		t.Errorf("got %q for nothing", got)
	}
}

func TestUseColor_NotATerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || UseColor(f) {
		t.Error("a file is no terminal")
	}
}

func TestLogger(t *testing.T) {
	var stderr bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	var shared Shared
	log := shared.Logger(cmd)
	log.Debug("hidden")
	log.Info("stream opened", "stream", "EV")
	shared.Verbose = true
	shared.Logger(cmd).Debug("seen")
	got := stderr.String()
	for _, want := range []string{`"message":"stream opened"`, `"stream":"EV"`, `"level":"info"`, `"message":"seen"`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
	if strings.Contains(got, "hidden") {
		t.Errorf("debug without --verbose: %s", got)
	}
}

func TestPrintJSON(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	if err := PrintJSON(cmd, map[string]string{"a": "<b>"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": \"<b>\"\n}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &Progress{w: &out, label: "import", now: func() time.Time { return now }}
	p.Finish() // draws nothing
	p.Set(0, 10)
	p.Set(1, 10) // too soon
	now = now.Add(barInterval)
	p.Set(5, 10)
	p.Set(10, 10) // the end is always drawn
	p.Finish()
	want := clearLine + "import " + strings.Repeat(barLeft, 30) + "   0% 0/10" +
		clearLine + "import " + strings.Repeat(barDone, 15) + strings.Repeat(barLeft, 15) + "  50% 5/10" +
		clearLine + "import " + strings.Repeat(barDone, 30) + " 100% 10/10" + clearLine
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("bar (-want +got):\n%s", diff)
	}
}

func TestProgress_NoTerminal(t *testing.T) {
	p := NewProgress(&bytes.Buffer{}, "import")
	if p != nil {
		t.Fatal("a bar where there is no terminal")
	}
	p.Set(1, 2)
	p.Finish()
}

// A terminal without control sequences gets no bar.
func TestProgress_DumbTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !IsTerminal(terminal) {
		t.Skip("no terminal can be made here")
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	if NewProgress(terminal, "import") == nil {
		t.Error("no bar on a terminal")
	}
	t.Setenv("TERM", "dumb")
	if NewProgress(terminal, "import") != nil {
		t.Error("a bar of escapes on a terminal that knows none")
	}
}

func TestBar_UnknownTotal(t *testing.T) {
	if got := bar("import", 7, 0); got != "import 7" {
		t.Errorf("got %q", got)
	}
	if got := bar("import", 9, 3); !strings.HasSuffix(got, "100% 3/3") {
		t.Errorf("got %q", got)
	}
}
