package ocsf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxArguments = 4 << 10

const maxText = 1 << 10

// Row returns the OCSF line of a record, without a line feed. The same record gives the same bytes,
// without control characters.
func Row(tenant string, e ledger.Entry) ([]byte, error) {
	origin, err := ledger.Origin(tenant)
	if err != nil {
		return nil, err
	}
	m := &mapper{entry: e, event: eventOf(e), origin: origin}
	m.common(tenant)
	m.classify()
	m.row.TypeUID = m.row.ClassUID*100 + m.row.ActivityID
	var out bytes.Buffer
	enc := json.NewEncoder(termtext.SafeJSON(&out))
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m.row); err != nil {
		return nil, fmt.Errorf("leaf %d as OCSF: %w", e.Leaf, err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func eventOf(e ledger.Entry) events.Event {
	if e.Class != ledger.ClassEvent || e.Removal.Done() {
		return events.Event{}
	}
	event, _ := events.Decode(e.Bytes) // after an error the row shows only the leaf
	return event
}

type mapper struct {
	entry  ledger.Entry
	event  events.Event
	origin string
	row    row
}

func (m *mapper) common(tenant string) {
	e := m.entry
	id := e.ID
	if id == "" || e.Class != ledger.ClassEvent {
		id = m.origin + "/" + strconv.FormatInt(e.Leaf, 10)
	}
	at := e.Time
	if at.IsZero() {
		at = e.Stored
	}
	m.row.SeverityID, m.row.Time = severityInformational, milliseconds(at)
	m.row.Metadata = metadata{
		Version: Version, Product: product{Name: "Hooktrail", VendorName: "Hooktrail"}, UID: id, Sequence: e.Leaf,
		EventCode: string(e.Kind), CorrelationUID: e.Run, LogName: m.origin, LoggedTime: milliseconds(e.Stored), TenantUID: tenant,
	}
	m.row.RawDataHash = &fingerprint{AlgorithmID: sha256, Value: e.Hash.String()}
	m.row.Unmapped.Hooktrail = details{
		Ledger: m.origin, Leaf: e.Leaf, Class: string(e.Class), Finding: string(e.Finding), Kind: string(e.Kind), Event: e.ID,
		Producer: e.Producer, Sequence: e.Sequence, Run: e.Run, Step: m.event.Step, ToolCall: m.event.ToolCall,
		Agent: m.event.Agent, Role: m.event.AgentRole, Removed: string(e.Removal.Word), Order: e.Removal.Order,
	}
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func (m *mapper) is(c class, activity int) {
	m.row.CategoryUID, m.row.ClassUID, m.row.ActivityID = c.category, c.uid, activity
	if activity == activityOther {
		m.row.ActivityName = m.name()
	}
}

func (m *mapper) name() string {
	if m.entry.Kind != "" {
		return string(m.entry.Kind)
	}
	return string(m.entry.Class)
}

func (m *mapper) app() string {
	for _, name := range []string{m.event.Agent, m.event.Source, m.entry.Producer} {
		if name != "" {
			return name
		}
	}
	return "unknown"
}

func (m *mapper) acts() {
	m.row.Actor = &actor{AppName: m.app()}
	if m.event.User != "" {
		m.row.Actor.User = &entity{UID: m.event.User}
	}
	if m.event.Session != "" {
		m.row.Actor.Session = &entity{UID: m.event.Session}
	}
	from := m.entry.Producer
	if from == "" {
		from = "unknown"
	}
	m.row.SrcEndpoint = &entity{Name: from}
}

func (m *mapper) short(text string) string {
	if len(text) <= maxText {
		return text
	}
	m.row.Metadata.IsTruncated = true
	return strings.ToValidUTF8(text[:maxText], "")
}
