// Package recent provides a map that keeps the values that were used last.
package recent

import (
	"container/list"
	"sync"
)

// Map keeps the values that were used last, as many as have room. Its methods may be called concurrently.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	room  int64
	byKey map[K]*list.Element
	order list.List // of entry, the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns an empty map with room for values of that total size.
func New[K comparable, V any](room int64) *Map[K, V] {
	return &Map[K, V]{room: room, byKey: map[K]*list.Element{}}
}

// Get returns the value of a key, if it is kept.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(element)
	return element.Value.(entry[K, V]).value, true
}

// Put keeps a value of that size. It drops those that were not used for the longest time, if there is no room.
func (m *Map[K, V]) Put(key K, value V, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.byKey[key]; ok {
		m.remove(element)
	}
	m.byKey[key] = m.order.PushFront(entry[K, V]{key, value, size})
	for m.room -= size; m.room < 0; {
		m.remove(m.order.Back())
	}
}

func (m *Map[K, V]) remove(element *list.Element) {
	kept := m.order.Remove(element).(entry[K, V])
	delete(m.byKey, kept.key)
	m.room += kept.size
}
