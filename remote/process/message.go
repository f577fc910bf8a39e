package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// protocol is the version of the messages: executables of different releases do not talk.
const protocol = 1

// Kinds of messages.
const (
	askHello byte = 1 + iota // payload: Options as JSON
	askOpen                  // payload: an address
	askRead                  // file, at, size
	askClose                 // file
	answerDone
	answerFailure // payload: a Failure as JSON
)

const (
	// mostPayload bounds a message: what is more is asked for in parts.
	mostPayload = 4 << 20
	// headBytes is the length of what stands before the payload.
	headBytes = 1 + 4 + 4 + 8 + 4 + 8 + 8 + 4
	// openedBytes is how the answer to askOpen begins: size, and whether the version is named. The
	// ETag follows.
	openedBytes = 9
)

// message is a request or an answer. Numbers are little-endian, in the order of the fields.
type message struct {
	kind     byte
	number   uint32 // an answer has that of its request
	file     uint32
	at       uint64
	size     uint32
	requests uint64 // in answers: made so far
	used     uint64 // in answers: bytes that came so far
	payload  []byte
}

var errGarbled = errors.New("modelpatch-remote gave an answer that cannot be read")

// bytes is the message as it is sent.
func (m message) bytes() []byte {
	b := make([]byte, 0, headBytes+len(m.payload))
	b = append(b, m.kind)
	b = binary.LittleEndian.AppendUint32(b, m.number)
	b = binary.LittleEndian.AppendUint32(b, m.file)
	b = binary.LittleEndian.AppendUint64(b, m.at)
	b = binary.LittleEndian.AppendUint32(b, m.size)
	b = binary.LittleEndian.AppendUint64(b, m.requests)
	b = binary.LittleEndian.AppendUint64(b, m.used)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.payload)))
	return append(b, m.payload...)
}

// readMessage reads the next message; io.EOF where there is none.
func readMessage(r io.Reader) (m message, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return m, err
	}
	m.kind = head[0]
	m.number, m.file = binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint32(head[5:])
	m.at, m.size = binary.LittleEndian.Uint64(head[9:]), binary.LittleEndian.Uint32(head[17:])
	m.requests, m.used = binary.LittleEndian.Uint64(head[21:]), binary.LittleEndian.Uint64(head[29:])
	n := binary.LittleEndian.Uint32(head[37:])
	if n > mostPayload || m.size > mostPayload {
		return m, fmt.Errorf("a message of %d bytes", n)
	}
	m.payload = make([]byte, n)
	_, err = io.ReadFull(r, m.payload)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return m, err
}
