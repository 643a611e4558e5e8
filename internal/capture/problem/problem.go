// Package problem writes the error responses of the HTTP servers (RFC 9457).
package problem

import (
	"encoding/json"
	"net/http"
)

// Problem is the body of an error response. Status and Detail are required.
type Problem struct {
	Type       string   `json:"type"`  // set by Write
	Title      string   `json:"title"` // set by Write
	Status     int      `json:"status"`
	Detail     string   `json:"detail"`
	Index      *int     `json:"index,omitempty"`     // of the event in a batch
	Attribute  string   `json:"attribute,omitempty"` // of the event
	Line       int      `json:"line,omitempty"`      // in the body, from 1
	Offset     *int     `json:"offset,omitempty"`    // in the body
	Accepted   int      `json:"accepted,omitempty"`
	Duplicates int      `json:"duplicates,omitempty"` // events that were stored before
	Shed       int      `json:"shed,omitempty"`       // events that were dropped and recorded as a gap
	IDs        []string `json:"ids,omitempty"`
}

// Write sends p as an HTTP response with the status in p.
func (p Problem) Write(w http.ResponseWriter) error {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	return json.NewEncoder(w).Encode(p)
}
