package hooks

import "reflect"

const maxDepth = 512

func copier[T any]() func(T) T {
	if !shares(reflect.TypeFor[T]()) {
		return nil
	}
	return func(v T) T {
		out := v
		copyInto(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&v).Elem(), 0)
		return out
	}
}

func copied[T any](copyOf func(T) T, v T) T {
	if copyOf == nil {
		return v
	}
	return copyOf(v)
}

func shares(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return true
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Array:
		return shares(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() && shares(f.Type) {
				return true
			}
		}
	}
	return false
}

func copyInto(dst, src reflect.Value, depth int) {
	if depth > maxDepth {
		dst.SetZero()
		return
	}
	if !shares(src.Type()) {
		return
	}
	switch src.Kind() {
	case reflect.Struct:
		for i := range src.NumField() {
			if src.Type().Field(i).IsExported() {
				copyInto(dst.Field(i), src.Field(i), depth+1)
			}
		}
	case reflect.Array:
		copyElements(dst, src, depth)
	default:
		if !src.IsNil() {
			dst.Set(copyBehind(src, depth))
		}
	}
}

func copyBehind(src reflect.Value, depth int) reflect.Value {
	switch src.Kind() {
	case reflect.Slice:
		fresh := reflect.MakeSlice(src.Type(), src.Len(), src.Len())
		reflect.Copy(fresh, src)
		copyElements(fresh, src, depth)
		return fresh
	case reflect.Map:
		fresh := reflect.MakeMapWithSize(src.Type(), src.Len())
		for it := src.MapRange(); it.Next(); {
			fresh.SetMapIndex(it.Key(), copyValue(it.Value(), depth))
		}
		return fresh
	case reflect.Pointer:
		fresh := reflect.New(src.Type().Elem())
		fresh.Elem().Set(src.Elem())
		copyInto(fresh.Elem(), src.Elem(), depth+1)
		return fresh
	default:
		return copyValue(src.Elem(), depth)
	}
}

func copyElements(dst, src reflect.Value, depth int) {
	if !shares(src.Type().Elem()) {
		return
	}
	for i := range src.Len() {
		copyInto(dst.Index(i), src.Index(i), depth+1)
	}
}

func copyValue(src reflect.Value, depth int) reflect.Value {
	fresh := reflect.New(src.Type()).Elem()
	fresh.Set(src)
	copyInto(fresh, src, depth+1)
	return fresh
}
