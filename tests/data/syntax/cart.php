<?php
use Shop\Item;
final class Cart implements Countable {
    // One item more.
    public function add(Item $item): void {
        $this->items->push($item, 'kept');
    }
}
