package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	otherValue   = "other" // replaces label values beyond the limit
	unknownValue = "unknown"
	maxValue     = 128 // in bytes
)

type series struct {
	family *family
	labels []string
	value  int64   // of a histogram: the sum in microseconds
	counts []int64 // of a histogram: a count for each bucket, then the values above all buckets
}

// Changes of a seriesSet are provisional until commit is called. It is not safe for concurrent use.
type seriesSet struct {
	limit     int // values of a label in one metric
	committed map[string]*series
	changed   map[string]*series
	accepted  map[label]map[string]bool
	added     []addedValue // values accepted since the last commit
}

type label struct {
	family *family
	index  int
}

type addedValue struct {
	label label
	value string
}

func newSeriesSet(limit int) *seriesSet {
	return &seriesSet{limit: limit, committed: map[string]*series{}, changed: map[string]*series{}, accepted: map[label]map[string]bool{}}
}

func (n *seriesSet) add(f *family, delta int64, labels ...string) {
	if delta != 0 {
		n.at(f, labels).value += delta
	}
}

func (n *seriesSet) observe(f *family, times int64, d time.Duration, labels ...string) {
	s := n.at(f, labels)
	bucket, _ := slices.BinarySearch(f.buckets, d)
	s.counts[bucket] += times
	s.value += times * d.Microseconds()
}

func (n *seriesSet) at(f *family, labels []string) *series {
	bounded := make([]string, len(labels))
	for i, value := range labels {
		bounded[i] = n.bound(label{f, i}, value)
	}
	key := f.name + "\x00" + strings.Join(bounded, "\x00")
	if s, ok := n.changed[key]; ok {
		return s
	}
	s := &series{family: f, labels: bounded}
	if f.buckets != nil {
		s.counts = make([]int64, len(f.buckets)+1)
	}
	if old, ok := n.committed[key]; ok {
		s.value = old.value
		copy(s.counts, old.counts)
	}
	n.changed[key] = s
	return s
}

func (n *seriesSet) bound(l label, value string) string {
	value = tidy(value)
	known := n.accepted[l]
	switch {
	case known[value]:
		return value
	case len(known) >= n.limit:
		return otherValue
	case known == nil:
		known = map[string]bool{}
		n.accepted[l] = known
	}
	known[value] = true
	n.added = append(n.added, addedValue{l, value})
	return value
}

func tidy(value string) string {
	value = strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", "\uFFFD"), "\uFFFD")
	if value == "" {
		return unknownValue
	}
	if len(value) <= maxValue {
		return value
	}
	cut := maxValue
	for !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut]
}

// Call commit only after the changes are on disk, and do not modify the result.
func (n *seriesSet) commit() map[string]*series {
	changed := n.changed
	maps.Copy(n.committed, changed)
	n.changed = map[string]*series{}
	n.added = n.added[:0]
	return changed
}

func (n *seriesSet) rollback() {
	clear(n.changed)
	for _, a := range n.added {
		delete(n.accepted[a.label], a.value)
	}
	n.added = n.added[:0]
}

func (n *seriesSet) save(conn *sqlite.Conn) error {
	for _, s := range n.changed {
		labels, counts, err := s.encode()
		if err != nil {
			return err
		}
		err = sqlitex.Execute(conn, `INSERT OR REPLACE INTO series (metric, labels, value, counts) VALUES (?, ?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{s.family.name, labels, s.value, counts}})
		if err != nil {
			return fmt.Errorf("save series: %w", err)
		}
	}
	for _, a := range n.added {
		err := sqlitex.Execute(conn, `INSERT INTO label (metric, label, value) VALUES (?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{a.label.family.name, a.label.family.labels[a.label.index], a.value}})
		if err != nil {
			return fmt.Errorf("save label: %w", err)
		}
	}
	return nil
}

func (s *series) encode() (labels, counts string, err error) {
	data, err := json.Marshal(s.labels)
	if err != nil {
		return "", "", fmt.Errorf("encode labels: %w", err)
	}
	labels = string(data)
	if s.counts == nil {
		return labels, "", nil
	}
	if data, err = json.Marshal(s.counts); err != nil {
		return "", "", fmt.Errorf("encode counts: %w", err)
	}
	return labels, string(data), nil
}

func (n *seriesSet) load(conn *sqlite.Conn) error {
	err := sqlitex.Execute(conn, `SELECT metric, labels, value, counts FROM series`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { return n.loadSeries(stmt) },
	})
	if err != nil {
		return fmt.Errorf("load series: %w", err)
	}
	err = sqlitex.Execute(conn, `SELECT metric, label, value FROM label`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			f := familyOf(stmt.ColumnText(0))
			if f == nil {
				return nil
			}
			if i := slices.Index(f.labels, stmt.ColumnText(1)); i >= 0 {
				n.bound(label{f, i}, stmt.ColumnText(2))
			}
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("load labels: %w", err)
	}
	n.added = n.added[:0]
	return nil
}

func (n *seriesSet) loadSeries(stmt *sqlite.Stmt) error {
	f := familyOf(stmt.ColumnText(0))
	if f == nil {
		return nil
	}
	s := &series{family: f, value: stmt.ColumnInt64(2)}
	if err := json.Unmarshal([]byte(stmt.ColumnText(1)), &s.labels); err != nil {
		return fmt.Errorf("labels of %s: %w", f.name, err)
	}
	if f.buckets != nil {
		if err := json.Unmarshal([]byte(stmt.ColumnText(3)), &s.counts); err != nil {
			return fmt.Errorf("counts of %s: %w", f.name, err)
		}
		if len(s.counts) != len(f.buckets)+1 {
			return fmt.Errorf("counts of %s: %d, want %d", f.name, len(s.counts), len(f.buckets)+1)
		}
	}
	n.committed[f.name+"\x00"+strings.Join(s.labels, "\x00")] = s
	return nil
}

func familyOf(name string) *family {
	for _, f := range families {
		if f.name == name {
			return f
		}
	}
	return nil
}
