package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"culvert/manifest"
	"culvert/place"
	"culvert/workers/internal/queue"
)

const (
	segmentSize = 128 << 10 // at which a segment is full, in bytes before it is sealed
	maxSegment  = 16 << 20  // that is read: many notes may come while the place cannot be reached

	// sharedHeartbeats is the least time between two writes if the queue is not within this process. To write costs two
	// requests to a bucket, and in the first minutes of an export, more often would be a good part of all.
	sharedHeartbeats = 5
)

// journal writes the notes of a job to the place, so that the queue may lose them.
//
// It consists of segments. The newest one is replaced by a longer one until it is full, so their number depends on what
// they contain, not on time. Only one coordinator writes to a segment: each has a term of its own, and begins with all
// that it knows. So the segments of earlier terms can be removed then.
type journal struct {
	to     place.Place
	sealer *queue.Sealer
	begun  time.Time
	least  time.Duration // between two writes
	only   bool          // the queue ends with this process

	name    segmentName // of the segment that is being filled
	text    []byte      // of it
	claimed bool        // the first segment of the term is in the place

	// due is when the segment is to be written. It is nil if the place has all notes.
	due <-chan time.Time
}

// journalEntry is a line of a segment: a note, as the queue has it.
type journalEntry struct {
	Key  string          `json:"key"`
	Note json.RawMessage `json:"note"`
}

// segmentName tells a segment from all others of a place.
type segmentName struct {
	run          string // of the job: that of a later one is greater
	term, number int    // of the coordinator, and of the segment
}

func (n segmentName) String() string {
	return fmt.Sprintf("%s/%s-%04d-%06d", manifest.JournalDirectory, n.run, n.term, n.number)
}

func (n segmentName) compare(other segmentName) int {
	return slices.Compare([]int{n.term, n.number}, []int{other.term, other.number})
}

// listJournal returns the segments in a place, in order, and the names of all files of journals.
func listJournal(ctx context.Context, from place.Place) (segments []segmentName, files []string, err error) {
	if files, err = manifest.JournalFiles(place.WithContext(ctx, from)); err != nil {
		return nil, nil, fmt.Errorf("workers: the journal: %w", err)
	}
	for _, file := range files {
		name, _, isPartial := strings.Cut(path.Base(file), ".")
		if isPartial {
			continue // a killed process has left it
		}
		fields := strings.Split(name, "-")
		term, termErr := strconv.Atoi(fields[1])
		number, numberErr := strconv.Atoi(fields[2])
		if err := errors.Join(termErr, numberErr); err != nil {
			return nil, nil, err
		}
		segments = append(segments, segmentName{fields[0], term, number})
	}
	slices.SortFunc(segments, segmentName.compare)
	return segments, files, nil
}

// removeJournal removes files of journals, and their directory if nothing is left in it.
func removeJournal(ctx context.Context, from place.Place, files []string) error {
	err := together(len(files), func(i int) error {
		err := from.Remove(ctx, files[i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("workers: removing the journal: %w", err)
	}
	_ = from.Remove(ctx, manifest.JournalDirectory) // it may have other files, or be no directory, and does no harm
	return nil
}

// readSegment returns the entries of a segment.
func readSegment(
	ctx context.Context, from place.Place, sealer *queue.Sealer, name segmentName,
) (entries []journalEntry, err error) {
	file, err := place.WithContext(ctx, from).Open(name.String())
	if err != nil {
		return nil, fmt.Errorf("workers: the journal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxSegment+1))
	if err == nil && len(data) > maxSegment {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("workers: the journal: %s: %w", name, err)
	}
	text, err := sealer.Open(name.String(), data)
	if err != nil {
		return nil, fmt.Errorf("workers: the journal belongs to another job, or its secret is another one: %w", err)
	}
	for lines := json.NewDecoder(bytes.NewReader(text)); ; {
		var entry journalEntry
		switch err := lines.Decode(&entry); {
		case err == io.EOF:
			return entries, nil
		case err != nil:
			return nil, fmt.Errorf("workers: the journal: %s: %w", name, err)
		}
		entries = append(entries, entry)
	}
}

// add adds a note. It reaches the place with the next flush.
func (j *journal) add(key string, note []byte) {
	j.text = append(append(j.text, encode(journalEntry{key, note})...), '\n')
	switch {
	case j.full():
		j.due = time.After(0)
	case j.due == nil:
		j.due = time.After(j.interval())
	}
}

func (j *journal) full() bool { return len(j.text) >= segmentSize }

// interval is how long notes wait for others, so that a part costs less than a request. If the queue ends with this
// process, what waits is lost with it. Otherwise the queue has to lose its data too: then at most a hundredth of the
// work is lost, or that of some heartbeats, and at most that of a minute.
func (j *journal) interval() time.Duration {
	if j.only {
		return j.least
	}
	return max(sharedHeartbeats*j.least, min(time.Since(j.begun)/100, time.Minute))
}

// flush writes the notes that the place does not have. If it fails, it should be called again when it is due, unless
// the error is errTakenOver.
func (j *journal) flush(ctx context.Context) error {
	if j.due == nil {
		return nil
	}
	j.due = time.After(j.interval())
	if j.claimed {
		if err := j.checkClaim(ctx); err != nil {
			return err
		}
	}
	for {
		create := j.to.Replace
		if !j.claimed {
			create = j.to.Create
		}
		err := j.write(ctx, create)
		if !j.claimed && errors.Is(err, fs.ErrExist) {
			j.name.term++ // another coordinator has just begun
			continue
		}
		if err != nil {
			return fmt.Errorf("workers: the journal: %w", err)
		}
		break
	}
	j.claimed, j.due = true, nil
	if j.full() {
		j.name.number++
		j.text = j.text[:0]
	}
	return nil
}

// checkClaim fails if somebody has removed the first segment of the term. A segment that was written then would say
// that the place has an export that can go on.
func (j *journal) checkClaim(ctx context.Context) error {
	_, err := fs.Lstat(place.WithContext(ctx, j.to), segmentName{j.name.run, j.name.term, 1}.String())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(errTakenOver, j.withdraw(ctx))
	case err != nil:
		return fmt.Errorf("workers: the journal: %w", err)
	}
	return nil
}

func (j *journal) write(ctx context.Context, create func(context.Context, string) (place.File, error)) error {
	name := j.name.String()
	file, err := create(ctx, name)
	if err != nil {
		return err
	}
	if _, err := file.Write(j.sealer.Seal(name, j.text)); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// supersede removes the segments of earlier terms.
func (j *journal) supersede(ctx context.Context) error {
	if j.name.term == 1 {
		return nil
	}
	return j.removeTerms(ctx, func(term int) bool { return term < j.name.term })
}

// withdraw removes the segments of the own term.
func (j *journal) withdraw(ctx context.Context) error {
	return j.removeTerms(ctx, func(term int) bool { return term == j.name.term })
}

func (j *journal) removeTerms(ctx context.Context, are func(term int) bool) error {
	segments, _, err := listJournal(ctx, j.to)
	if err != nil {
		return err
	}
	var files []string
	for _, s := range segments {
		if s.run == j.name.run && are(s.term) {
			files = append(files, s.String())
		}
	}
	return removeJournal(ctx, j.to, files)
}

// errTakenOver means that two exports write to one place, without a queue that both use.
var errTakenOver = errors.New("workers: another export to this place has taken over")

// check fails if another coordinator has begun to write to the place, with this run or a later one.
func (j *journal) check(ctx context.Context) error {
	segments, _, err := listJournal(ctx, j.to)
	if err != nil {
		return err
	}
	if !slices.Contains(segments, segmentName{j.name.run, j.name.term, 1}) {
		return errTakenOver
	}
	for _, s := range segments {
		if s.run > j.name.run || s.run == j.name.run && s.term > j.name.term {
			return errTakenOver
		}
	}
	return nil
}

// remove removes the journal of a job that has ended.
func (j *journal) remove(ctx context.Context) error {
	_, files, err := listJournal(ctx, j.to)
	if err != nil {
		return err
	}
	return removeJournal(ctx, j.to, files)
}

// together calls f with 0 to n-1, several at once, and returns the errors.
func together(n int, f func(i int) error) error {
	const most = 16
	var group sync.WaitGroup
	next := make(chan int)
	errs := make([]error, min(n, most))
	for worker := range errs {
		group.Go(func() {
			for i := range next {
				if errs[worker] == nil {
					errs[worker] = f(i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}
