require "json"
# A cart.
class Cart
  def self.load(path)
    JSON.parse(File.read(path))
  end

  def empty?
    @items.empty?
  end
end
