package hooksocket

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Request is a POST request to a publisher.
type Request struct {
	Path   string
	Header map[string]string
	Body   []byte
}

// Response is the response to a Request.
type Response struct {
	Code   int
	Status string // such as "503 Service Unavailable"
	Header Header
	Body   []byte
}

// Header contains the headers of a response. For a repeated name, it contains the first value.
type Header map[string]string // by name in lower case

// Get returns the value of a header, or "" if the header is missing.
func (h Header) Get(name string) string { return h[strings.ToLower(name)] }

const (
	maxHead   = 64 << 10 // bytes of a status line and headers
	maxAnswer = 2 * MaxPayload

	statusOK = 200 // lower codes are informational
)

var errResponse = errors.New("its response is not HTTP")

// Exchange sends a request and calls started when the response begins. It does not use net/http,
// because loading that large package would slow down each hook.
func Exchange(conn io.ReadWriter, req Request, started func()) (Response, error) {
	message := []byte("POST " + req.Path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(req.Body)) + "\r\n")
	for name, value := range req.Header {
		message = append(message, name+": "+value+"\r\n"...)
	}
	message = append(append(message, "\r\n"...), req.Body...)
	_, sent := conn.Write(message) // the server may respond before it has read everything
	resp, err := readResponse(conn, started)
	if err != nil {
		err = errors.Join(sent, err)
	}
	return resp, err
}

func readResponse(conn io.Reader, started func()) (Response, error) {
	limited := &io.LimitedReader{R: conn, N: maxHead}
	r := bufio.NewReader(limited)
	resp, err := readHead(r)
	if err != nil {
		return resp, err
	}
	started()
	for resp.Code < statusOK { // informational
		if resp, err = readHead(r); err != nil {
			return resp, err
		}
	}
	limited.N = maxAnswer
	switch length := resp.Header.Get("Content-Length"); {
	case strings.EqualFold(resp.Header.Get("Transfer-Encoding"), "chunked"):
		resp.Body, err = readChunks(r)
	case length != "":
		resp.Body, err = readLength(r, length)
	default:
		resp.Body, err = io.ReadAll(r)
	}
	return resp, err
}

func readHead(r *bufio.Reader) (Response, error) {
	line, err := readLine(r)
	if err != nil {
		return Response{}, err
	}
	protocol, status, _ := strings.Cut(line, " ")
	digits, _, _ := strings.Cut(status, " ")
	code, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 3 || code < 100 || protocol != "HTTP/1.1" {
		return Response{}, errResponse
	}
	header, err := readHeader(r)
	return Response{Code: code, Status: status, Header: header}, err
}

func readHeader(r *bufio.Reader) (Header, error) {
	h := Header{}
	for {
		line, err := readLine(r)
		if err != nil || line == "" {
			return h, err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, errResponse
		}
		if name = strings.ToLower(name); h[name] == "" {
			h[name] = strings.Trim(value, " \t")
		}
	}
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), unexpected(err)
}

func readLength(r io.Reader, text string) ([]byte, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > maxAnswer {
		return nil, errResponse
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, unexpected(err)
}

func readChunks(r *bufio.Reader) (body []byte, err error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		if err != nil || n > maxAnswer {
			return nil, errResponse
		}
		if n == 0 {
			return body, nil // the connection ends after the trailer
		}
		start := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(r, body[start:]); err != nil {
			return nil, unexpected(err)
		}
		if line, err := readLine(r); err != nil || line != "" {
			return nil, errors.Join(err, errResponse)
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
