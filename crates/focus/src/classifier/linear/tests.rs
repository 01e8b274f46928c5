use super::*;

#[test]
fn a_model_file_is_read_back_and_damage_is_noticed() {
    let weights = (0..1 << BITS).map(|place| (place as f32).sin()).collect();
    let model = LinearModel::new(weights, -1.5, Weights([0.25, 3.0]));
    let file = model.to_bytes();
    assert_eq!(LinearModel::from_bytes(&file).unwrap(), model);
    assert_eq!(LinearModel::from_bytes(b"genre = []"), Err(ModelError::Mark));
    assert_eq!(LinearModel::from_bytes(&file[..100]), Err(ModelError::Length(100)));
    let mut damaged = file;
    damaged[5000] ^= 1;
    assert_eq!(LinearModel::from_bytes(&damaged), Err(ModelError::Checksum));
}
