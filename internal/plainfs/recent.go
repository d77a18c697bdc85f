package plainfs

import (
	"container/list"
	"sync"
)

// recent keeps the values that were used last, as many as have room.
type recent[K comparable, V any] struct {
	mu    sync.Mutex
	room  int64
	byKey map[K]*list.Element
	order list.List // of keptValue, those used last at the front
}

type keptValue[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

func newRecent[K comparable, V any](room int64) *recent[K, V] {
	return &recent[K, V]{room: room, byKey: map[K]*list.Element{}}
}

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.byKey[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(element)
	return element.Value.(keptValue[K, V]).value, true
}

// put keeps a value that takes so much of the room.
func (r *recent[K, V]) put(key K, value V, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if element, ok := r.byKey[key]; ok {
		r.remove(element)
	}
	r.byKey[key] = r.order.PushFront(keptValue[K, V]{key, value, size})
	for r.room -= size; r.room < 0; {
		r.remove(r.order.Back())
	}
}

func (r *recent[K, V]) remove(element *list.Element) {
	kept := r.order.Remove(element).(keptValue[K, V])
	delete(r.byKey, kept.key)
	r.room += kept.size
}
